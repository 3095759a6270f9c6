// Parses the output of Slurm's programs about a node, and finds what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// A node's hardware in Slurm's terms; values that were not printed are absent.
struct SlurmHardware {
  std::optional<int64_t> cpus;  // hardware threads, or cores if threads are not allocated
  std::optional<int64_t> boards;
  std::optional<int64_t> sockets;  // on all boards
  std::optional<int64_t> cores_per_socket;
  std::optional<int64_t> threads_per_core;
  std::optional<int64_t> memory_mib;
};

// The NodeName line of `slurmd -C`: the hardware of the machine.
struct SlurmdLine {
  std::string name;  // under which slurmd registers
  SlurmHardware hardware;
};

// A line of `scontrol --oneliner show node`: Slurm's configuration and state of the node.
struct SlurmNodeLine {
  std::string name;
  std::string state;   // "IDLE+DRAIN"
  std::string reason;  // free text of administrators; "": none
  SlurmHardware hardware;
  int64_t gpus = 0;             // counted in Gres
  bool has_gpu_slices = false;  // MIG slices, of which there are more than GPUs
};

// InvalidArgument: there is no such line.
absl::StatusOr<SlurmdLine> ParseSlurmdLine(absl::string_view text);
absl::StatusOr<SlurmNodeLine> ParseSlurmNodeLine(absl::string_view text);

// Adds a fault where Slurm expects another machine than this one, or other GPUs than those `gpus`
// that the driver lists; without `gpus` they are not compared. Slurm may be configured with less
// memory than there is, and with one CPU per core. Pure.
std::vector<Fault> CompareWithSlurm(const SlurmNodeLine& slurm, const SlurmHardware& found,
                                    std::optional<int64_t> gpus);

// The words of a state in which Slurm starts no job, whether or not the node is drained; empty:
// none. A drain is not one of them.
std::vector<std::string> StatesOutOfService(absl::string_view state);

}  // namespace muster::burnin
