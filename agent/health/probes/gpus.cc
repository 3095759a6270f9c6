// GPUs, as their driver reports them to a child process: the driver's library hangs on a sick GPU.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/facts/sysfs.h"
#include "agent/health/probes/child.h"
#include "agent/health/probes/gpu_readings.h"
#include "agent/health/probes/probe.h"
#include "common/base/clock.h"

namespace muster::agent::health {
namespace {

constexpr absl::Duration kGpuTimeLimit = absl::Seconds(40);
constexpr size_t kMaxText = size_t{256} << 10;
constexpr int64_t kNvidia = 0x10de;
// PCI's base class for displays, above sub-class and interface.
constexpr int64_t kDisplay = 0x03;
// Where there is nothing to read, only every so many looks try.
constexpr int kIdleLooks = 10;

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
    const size_t in_slots = CountGpus();
    if (in_slots == 0 && seen_.empty() && idle_looks_++ % kIdleLooks != 0) return findings;
    const absl::StatusOr<sys::ProcessResult> read =
        child_.Run({context_.burnin, "metrics"}, kGpuTimeLimit, kMaxText);
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
      if (absl::IsDeadlineExceeded(read.status())) {
        findings.Bad("gpu_driver", "", absl::StrCat("the GPUs' driver hangs: ", why));
      } else {
        findings.Unknown("gpu_driver", "", why);
      }
      return findings;
    }
    const GpuReadings readings = ParseGpuReadings(read->out);
    if (!readings.has_driver) {
      if (in_slots > 0 || !seen_.empty())
        findings.Bad("gpu_driver", "", "the GPUs' driver is loaded and does not answer");
      return findings;
    }
    LookForLost(readings, in_slots, findings);
    LookForLostLinks(readings, findings);
    JudgeGpus(readings, limits, *context_.trends, context_.clock->Now(), findings);
    return findings;
  }

 private:
  // GPUs that the driver has taken; others may belong to somebody else.
  size_t CountGpus() const {
    size_t count = 0;
    const std::string devices = context_.root + "/sys/bus/pci/devices";
    for (const std::string& address : ListNames(devices)) {
      const std::string device = absl::StrCat(devices, "/", address);
      if (ReadNumber(device + "/vendor").value_or(0) == kNvidia &&
          ReadNumber(device + "/class").value_or(0) >> 16 == kDisplay &&
          LinkName(device + "/driver") == "nvidia")
        ++count;
    }
    return count;
  }

  void LookForLost(const GpuReadings& readings, size_t in_slots, Findings& findings) {
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
    if (missing == 0 && in_slots > readings.gpus.size())
      findings.Bad("gpu_lost", "",
                   absl::StrCat("the driver has ", readings.gpus.size(), " of the ", in_slots,
                                " GPUs that are in PCIe slots"));
    context_.gpus->Set(std::move(uuids));
  }

  // NVLinks that were up before, or whose neighbours on the baseboard are.
  void LookForLostLinks(const GpuReadings& readings, Findings& findings) {
    for (const GpuReading& gpu : readings.gpus) {
      const std::optional<double> up = gpu.Value("muster_gpu_nvlinks_up");
      if (!up.has_value() || gpu.uuid.empty() || seen_.count(gpu.uuid) == 0) continue;
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
  int idle_looks_ = 0;
};

}  // namespace

std::unique_ptr<Probe> MakeGpuProbe(const ProbeContext& context) {
  return std::make_unique<GpuProbe>(context);
}

}  // namespace muster::agent::health
