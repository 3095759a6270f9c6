#include "agent/burnin/runners.h"

#include "agent/burnin/system/clock_check.h"
#include "agent/burnin/system/disk.h"
#include "agent/burnin/system/file_systems.h"
#include "agent/burnin/system/machine_errors.h"
#include "agent/burnin/system/memory_bandwidth.h"
#include "agent/burnin/system/slurm_node.h"
#include "agent/burnin/system/stress.h"

namespace muster::burnin {
namespace {

constexpr CheckRunner kSystemRunners[] = {
    {"cpu-stress", RunCpuStress},
    {"memory-stress", RunMemoryStress},
    {"memory-bandwidth", RunMemoryBandwidth},
    {"disk", RunDiskCheck},
    {"file-systems", RunFileSystemsCheck},
    {"clock", RunClockCheck},
    {"machine-errors", RunMachineErrorsCheck},
    {"slurm-node", RunSlurmNodeCheck},
};

}  // namespace

absl::Span<const CheckRunner> SystemRunners() { return kSystemRunners; }

}  // namespace muster::burnin
