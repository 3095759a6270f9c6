// GPUs, as their driver reports them to a child process: the driver's library hangs on a sick GPU.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/facts/sysfs.h"
#include "agent/health/probes/child.h"
#include "agent/health/probes/gpu_readings.h"
#include "agent/health/probes/probe.h"
#include "common/base/clock.h"

namespace muster::agent::health {
namespace {

constexpr absl::Duration kGpuTimeLimit = absl::Seconds(40);
// A driver that does not keep its GPUs initialized takes seconds more for each, at every look.
constexpr absl::Duration kTimePerGpu = absl::Seconds(10);
constexpr size_t kMostTimedGpus = 16;
constexpr size_t kMaxText = size_t{256} << 10;
constexpr int64_t kNvidia = 0x10de;
// PCI's base class for displays, above sub-class and interface.
constexpr int64_t kDisplay = 0x03;
// Where there is nothing to read, only every so many looks try.
constexpr int kIdleLooks = 10;
// akmods and dkms.service build the driver for a new kernel beside the agent. Looks are counted
// instead of time, which may be set after a boot.
constexpr int kLooksForDriver = 10;

constexpr const char* kConditions[] = {"gpu_lost",
                                       "gpu_ecc",
                                       "gpu_row_remap",
                                       "gpu_row_remap_failed",
                                       "gpu_throttle",
                                       "gpu_temperature",
                                       "gpu_memory_temperature",
                                       "gpu_fabric",
                                       "nvlink_down",
                                       "nvlink_replay",
                                       "pcie_replay",
                                       "pcie_degraded"};

class GpuProbe final : public Probe {
 public:
  explicit GpuProbe(const ProbeContext& context) : context_(context), child_(*context.processes) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    Findings findings;
    const Slots slots = LookAtSlots();
    const std::vector<std::string>& in_slots = slots.cards;
    was_driven_ = was_driven_ || !slots.driven.empty();
    if (in_slots.empty() && seen_.empty() && idle_looks_++ % kIdleLooks != 0) return findings;
    const bool hung_before = child_.IsHanging();
    const absl::StatusOr<sys::ProcessResult> read =
        child_.Run({context_.burnin, "metrics"}, TimeLimit(in_slots.size()), kMaxText);
    if (absl::IsNotFound(read.status())) {
      findings.not_watched.assign(std::begin(kConditions), std::end(kConditions));
      findings.not_watched.emplace_back("gpu_driver");
      return findings;
    }
    if (!read.ok() || !read->ok()) {
      const std::string why =
          read.ok() ? absl::StrCat("muster-burnin metrics ended with status ", read->exit_code)
                    : std::string(read.status().message());
      for (const char* condition : kConditions) findings.Unknown(condition, "", why);
      if (absl::IsDeadlineExceeded(read.status()) && !hung_before && !IsPersistent()) {
        findings.Unknown(
            "gpu_driver", "",
            absl::StrCat(why, ": the driver initializes all GPUs at each call; ",
                         "let it keep them: systemctl enable --now nvidia-persistenced"));
      } else if (absl::IsDeadlineExceeded(read.status())) {
        findings.Bad("gpu_driver", "", absl::StrCat("the GPUs' driver hangs: ", why));
      } else {
        findings.Unknown("gpu_driver", "", why);
      }
      return findings;
    }
    const GpuReadings readings = ParseGpuReadings(read->out);
    if (!readings.has_driver) {
      if (in_slots.empty() && seen_.empty()) return findings;
      const std::string why =
          absl::StrCat(slots.driven.empty() ? "the GPUs' driver is not loaded"
                                            : "the GPUs' driver is loaded and does not answer",
                       readings.why_no_driver.empty() ? "" : ": ", readings.why_no_driver);
      if (!was_driven_ && ++looks_without_driver_ <= kLooksForDriver) {
        findings.Unknown("gpu_driver", "", why);
      } else {
        findings.Bad("gpu_driver", "", why);
      }
      for (const char* condition : kConditions) findings.Unknown(condition, "", why);
      return findings;
    }
    RememberPersistence(readings);
    RememberModels(slots.driven);
    LookForLost(readings, in_slots, findings);
    LookForLostLinks(readings, findings);
    JudgeGpus(readings, limits, *context_.trends, context_.clock->Now(), findings);
    return findings;
  }

 private:
  struct Slots {
    std::vector<std::string> cards;  // addresses
    std::set<int64_t> driven;        // models of which the driver has a card
  };

  // The GPUs that the driver has taken, and those that it should have: cards of the same model that
  // no driver has, because they failed when they were to be taken; and where the driver has none,
  // as after a boot in which it was not loaded, cards of a model that it has had. Others may belong
  // to somebody else, or are too old for the driver, and a function that the driver makes for a
  // virtual machine (SR-IOV) is no card.
  Slots LookAtSlots() const {
    Slots slots;
    std::vector<std::pair<std::string, int64_t>> without_driver;
    const std::string devices = context_.root + "/sys/bus/pci/devices";
    for (const std::string& address : ListNames(devices)) {
      const std::string device = absl::StrCat(devices, "/", address);
      if (ReadNumber(device + "/vendor").value_or(0) != kNvidia ||
          ReadNumber(device + "/class").value_or(0) >> 16 != kDisplay ||
          !LinkName(device + "/physfn").empty())
        continue;
      const int64_t model = ReadNumber(device + "/device").value_or(0);
      const std::string driver = LinkName(device + "/driver");
      if (driver == "nvidia") {
        slots.cards.push_back(address);
        slots.driven.insert(model);
      } else if (driver.empty() && !IsKeptForAnother(device)) {
        without_driver.emplace_back(address, model);
      }
    }
    for (auto& [address, model] : without_driver) {
      const bool is_missed = slots.driven.empty()
                                 ? context_.trends->Last(ModelName(model)).has_value()
                                 : slots.driven.count(model) > 0;
      if (is_missed) slots.cards.push_back(std::move(address));
    }
    return slots;
  }

  // Kept with the counters, and so across boots.
  static std::string ModelName(int64_t model) {
    return absl::StrCat("gpu_model/", absl::Hex(model, absl::kZeroPad4));
  }

  void RememberModels(const std::set<int64_t>& models) {
    for (const int64_t model : models) {
      const std::string name = ModelName(model);
      if (!context_.trends->Last(name).has_value())
        context_.trends->Add(name, 1, context_.clock->Now());
    }
  }

  // Somebody has said which driver it is for, as for a virtual machine.
  static bool IsKeptForAnother(const std::string& device) {
    const std::string chosen = ReadValue(device + "/driver_override").value_or("");
    return !chosen.empty() && chosen != "(null)" && chosen != "nvidia";
  }

  void RememberPersistence(const GpuReadings& readings) {
    std::optional<bool> all;
    for (const GpuReading& gpu : readings.gpus) {
      const std::optional<double> mode = gpu.Value("muster_gpu_persistence");
      if (mode.has_value()) all = all.value_or(true) && *mode != 0;
    }
    if (all.has_value()) is_persistent_ = all;
  }

  absl::Duration TimeLimit(size_t in_slots) const {
    if (IsPersistent()) return kGpuTimeLimit;
    return kGpuTimeLimit + std::min(std::max(in_slots, seen_.size()), kMostTimedGpus) * kTimePerGpu;
  }

  // Whether the driver keeps its GPUs initialized: as it said at the last look, else by its daemon.
  bool IsPersistent() const {
    if (is_persistent_.has_value()) return *is_persistent_;
    std::error_code error;
    return std::filesystem::exists(context_.root + "/run/nvidia-persistenced/socket", error);
  }

  void LookForLost(const GpuReadings& readings, const std::vector<std::string>& in_slots,
                   Findings& findings) {
    std::map<std::string, std::string> uuids;  // by address
    std::set<std::string> here;
    for (const GpuReading& gpu : readings.gpus) {
      if (gpu.uuid.empty()) continue;
      here.insert(gpu.uuid);
      if (seen_.size() < kMaxGpus) seen_[gpu.uuid] = gpu.pci_address;
      if (!gpu.pci_address.empty()) uuids[gpu.pci_address] = gpu.uuid;
    }
    size_t missing = 0;
    for (const auto& [uuid, address] : seen_) {
      if (here.count(uuid) > 0) continue;
      ++missing;
      // Its Xid comes from the log with its address alone.
      if (!address.empty()) uuids.try_emplace(address, uuid);
      findings.Bad("gpu_lost", uuid, absl::StrCat("the driver no longer has the GPU at ", address));
    }
    if (missing == 0 && in_slots.size() > readings.gpus.size())
      findings.Bad("gpu_lost", "",
                   absl::StrCat("the driver has ", readings.gpus.size(), " of the ",
                                in_slots.size(), " GPUs that are in PCIe slots, not ",
                                absl::StrJoin(NotTold(readings, in_slots), ", ")));
    context_.gpus->Set(std::move(uuids));
  }

  static std::vector<std::string> NotTold(const GpuReadings& readings,
                                          const std::vector<std::string>& in_slots) {
    std::set<std::string> told;
    for (const GpuReading& gpu : readings.gpus) told.insert(gpu.pci_address);
    std::vector<std::string> others;
    for (const std::string& address : in_slots)
      if (told.count(address) == 0) others.push_back(address);
    return others;
  }

  // NVLinks that were up before, or whose neighbors on the baseboard are.
  void LookForLostLinks(const GpuReadings& readings, Findings& findings) {
    for (const GpuReading& gpu : readings.gpus) {
      const std::optional<double> up = gpu.Value("muster_gpu_nvlinks_up");
      if (!up.has_value() || gpu.uuid.empty() || seen_.count(gpu.uuid) == 0) continue;
      if (gpu.Value("muster_gpu_mig").value_or(0) != 0) {
        // A GPU in MIG mode has its NVLinks off.
        links_.erase(gpu.uuid);
        continue;
      }
      double& most = links_[gpu.uuid];
      most = std::max(most, *up + gpu.Value("muster_gpu_nvlinks_missing").value_or(0));
      if (*up < most)
        findings.Bad("nvlink_down", gpu.name(),
                     absl::StrCat(*up, " of its ", most, " NVLinks are up: look for Xid 74 and ",
                                  "SXid in the kernel's log, check the bridge or the baseboard"));
    }
  }

  const ProbeContext context_;
  Child child_;
  std::map<std::string, std::string> seen_;  // at an earlier look: address by uuid
  std::map<std::string, double> links_;      // the most that should be up, by uuid
  std::optional<bool> is_persistent_;        // all GPUs, when they told it last
  int idle_looks_ = 0;
  bool was_driven_ = false;       // the driver has had a card since the agent began
  int looks_without_driver_ = 0;  // before that
};

}  // namespace

std::unique_ptr<Probe> MakeGpuProbe(const ProbeContext& context) {
  return std::make_unique<GpuProbe>(context);
}

}  // namespace muster::agent::health
