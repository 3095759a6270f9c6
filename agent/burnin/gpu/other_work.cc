#include "agent/burnin/gpu/other_work.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"

namespace muster::burnin {
namespace {

using Processes = absl::StatusOr<std::vector<NvmlDevice::Process>>;

// A GPU that is lost works for nobody.
Processes NobodyWhereLost(Processes processes) {
  if (absl::IsDataLoss(processes.status())) return std::vector<NvmlDevice::Process>();
  return processes;
}

// Neither does one that cannot draw.
Processes NobodyWhereUntold(Processes processes) {
  if (absl::IsUnimplemented(processes.status())) return std::vector<NvmlDevice::Process>();
  return NobodyWhereLost(std::move(processes));
}

bool Has(const std::vector<unsigned>& pids, unsigned pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

}  // namespace

absl::StatusOr<OtherWork> ReadOtherWork(const NvmlDevice& device) {
  ASSIGN_OR_RETURN(const std::vector<NvmlDevice::Process> computing,
                   NobodyWhereLost(device.ComputeProcesses()));
  ASSIGN_OR_RETURN(const std::vector<NvmlDevice::Process> drawing,
                   NobodyWhereUntold(device.GraphicsProcesses()));
  const auto own = static_cast<unsigned>(getpid());
  OtherWork work;
  for (const NvmlDevice::Process& process : computing)
    if (process.pid != own) work.working.push_back(process.pid);
  for (const NvmlDevice::Process& process : drawing) {
    if (process.pid == own || Has(work.working, process.pid)) continue;
    // Unreported memory is the largest number.
    const bool rests = process.memory_bytes <= OtherWork::kMostOfDisplay;
    (rests ? work.displays : work.working).push_back(process.pid);
  }
  return work;
}

}  // namespace muster::burnin
