// The GPUs of the fake and their state, from a JSON file that may change at any time.
//
// The file is named by MUSTER_FAKE_NVIDIA, else /etc/muster-fake-nvidia.json; without it there is
// no driver. README.md in this folder describes every field.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/nvidia/preset.h"

namespace muster::fake_nvidia {

// The readings of a GPU while it works, or while it does not.
struct Condition {
  unsigned temperature = 0;
  unsigned memory_temperature = 0;  // 0: not supported
  std::optional<int> margin;        // below the slowdown; nullopt: not supported
  double power_watts = 0;
  unsigned sm_clock_mhz = 0, memory_clock_mhz = 0;
  unsigned long long clock_reasons = 0;
  unsigned pcie_generation = 0, pcie_width = 16;
};

struct FakeProcess {
  unsigned pid = 0;
  unsigned long long memory_bytes = 0;
  bool graphics = false;
};

// Bits that flip by themselves.
struct Flips {
  double memory_after_s = -1;  // since the first context; negative: never
  double memory_every_s = 0;   // 0: once
  unsigned kernel_every = 0;   // launches; 0: never
  int allocation = 0;          // from 1 oldest first, from -1 newest first; 0: any
  unsigned bits = 1;
};

// What counters add once the GPU has worked.
struct NewErrors {
  uint64_t ecc_corrected = 0, ecc_uncorrected = 0, nvlink = 0;
  unsigned remapped = 0, retired = 0, pcie_replays = 0;
};

struct Gpu {
  const Preset* preset = nullptr;
  std::string name, uuid, serial, vbios, pci_address;
  uint64_t memory_bytes = 0;
  uint64_t backing_bytes = 0;  // allocatable bytes, which the machine's own memory backs
  unsigned power_limit_watts = 0;
  Condition idle, busy;
  unsigned max_temperature = 0, slowdown_temperature = 0;  // thresholds; 0: not supported
  unsigned memory_max_temperature = 0;
  bool xid_events = false;     // whether it tells of Xids
  std::vector<unsigned> xids;  // those that it has had; a new one is told to who listens
  std::optional<int> least_margin;
  NewErrors new_errors;
  unsigned max_pcie_generation = 0, max_pcie_width = 16, card_max_pcie_generation = 0;
  unsigned application_clock_mhz = 0;  // for data centre cards; the default is the preset's clock
  unsigned pcie_replays = 0;
  bool persistence = true;
  bool ecc = false;  // supported and on
  uint64_t ecc_corrected = 0, ecc_uncorrected = 0;
  unsigned remapped_corrected = 0, remapped_uncorrected = 0;
  bool remap_pending = false, remap_failed = false;
  unsigned retired_single = 0, retired_double = 0;
  unsigned nvlinks = 0, nvlinks_up = 0;
  uint64_t nvlink_errors = 0;
  int unsupported_link_counter = -1;  // by NVML's number
  unsigned fabric_state = 0, fabric_health = 0;
  int fabric_status = 0;
  bool mig = false;
  int compute_mode = 0;
  std::vector<FakeProcess> processes;
  std::vector<std::string> not_supported;  // functions that return this
  std::map<std::string, int> answers;      // functions that return this error
  std::vector<std::string> hang;  // functions that do not return while they are listed here
  double lost_after_s = -1;       // 0: at once; negative: never
  int context_error = 0;          // what making a context answers
  int launch_error = 0;
  bool peer_access = false;
  double slowdown = 1;           // of kernels
  double copy_gbytes_per_s = 0;  // between host and device; 0: as fast as it goes
  Flips flips;
};

// One libcublas.so.N.
struct FakeCublas {
  int create = 0;            // what making a handle answers
  std::vector<int> refuses;  // types of number, as cudaDataType_t, that it does not multiply
};

struct World {
  std::string driver_version;
  int cuda_version = 12020;
  int nvml_init = 0, cuda_init = 0;  // results of the two initialisations
  std::vector<std::string> hang;     // like Gpu::hang, for all
  std::vector<Gpu> gpus;
  std::map<int, FakeCublas> cublas;  // by N
};

// The present content of the file. While that is not readable as JSON, the previous one.
// Thread-safe.
std::shared_ptr<const World> CurrentWorld();

// Does not return while `function` hangs, for all GPUs or for this one (negative: for none).
void HangIfTold(const char* function, int gpu);

// This process's use of a GPU: the fake driver knows it, the fake NVML asks for it.
struct Activity {
  bool has_context = false;
  double since_first_context_s = -1;  // of any GPU; negative: there was none
  bool busy = false;
  bool has_worked = false;
};
// Exported by the fake libcuda.so.1 under this name.
inline constexpr char kActivityFunction[] = "muster_fake_nvidia_activity";
using ActivityFunction = void (*)(int gpu, Activity* activity);

}  // namespace muster::fake_nvidia
