#include "agent/burnin/gpu/other_work.h"

#include <unistd.h>

#include <algorithm>

#include "common/base/status.h"

namespace muster::burnin {
namespace {

using Processes = absl::StatusOr<std::vector<nvml::ProcessInfo>>;

Processes NobodyWhereUntold(Processes processes) {
  if (absl::IsUnimplemented(processes.status()) || absl::IsDataLoss(processes.status()))
    return std::vector<nvml::ProcessInfo>();
  return processes;
}

bool Has(const std::vector<unsigned>& pids, unsigned pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

}  // namespace

absl::StatusOr<OtherWork> ReadOtherWork(const NvmlDevice& device) {
  ASSIGN_OR_RETURN(const std::vector<nvml::ProcessInfo> computing,
                   NobodyWhereUntold(device.ComputeProcesses()));
  ASSIGN_OR_RETURN(const std::vector<nvml::ProcessInfo> drawing,
                   NobodyWhereUntold(device.GraphicsProcesses()));
  const auto own = static_cast<unsigned>(getpid());
  OtherWork work;
  for (const nvml::ProcessInfo& process : computing)
    if (process.pid != own) work.working.push_back(process.pid);
  for (const nvml::ProcessInfo& process : drawing) {
    if (process.pid == own || Has(work.working, process.pid)) continue;
    // Unreported memory is the largest number.
    const bool rests = process.used_gpu_memory <= OtherWork::kMostOfDisplay;
    (rests ? work.displays : work.working).push_back(process.pid);
  }
  return work;
}

}  // namespace muster::burnin
