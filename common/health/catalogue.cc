#include "common/health/catalogue.h"

#include <algorithm>
#include <iterator>

namespace muster::health {
namespace {

constexpr auto kWarning = Severity::kWarning;
constexpr auto kFatal = Severity::kFatal;
constexpr auto kObserve = DefaultPolicy::kObserve;
constexpr auto kNotify = DefaultPolicy::kNotify;
constexpr auto kDrain = DefaultPolicy::kDrain;

constexpr char kKernelLog[] = "kernel log";
constexpr char kGpuMetrics[] = "muster-burnin metrics";
constexpr char kNet[] = "/sys/class/net";
constexpr char kInfiniband[] = "/sys/class/infiniband";
constexpr char kBmc[] = "ipmi-sensors and ipmi-sel, where freeipmi-tools is installed";
constexpr char kEdac[] = "/sys/devices/system/edac";

constexpr ConditionInfo kConditions[] = {
    // GPUs
    {"gpu_lost", kFatal, kDrain, "A GPU has fallen off the bus, or the driver no longer has it",
     kGpuMetrics},
    {"gpu_driver", kFatal, kDrain, "The machine has GPUs, but their driver does not answer",
     kGpuMetrics},
    {"gpu_xid", kFatal, kDrain,
     "The driver logged an error, mostly an Xid, after which the GPU has to be reset, the machine "
     "rebooted or the card looked at",
     kKernelLog},
    {"gpu_xid_watch", kWarning, kNotify,
     "The driver logged an Xid whose details decide what to do, or that is not in the table",
     kKernelLog},
    {"gpu_ecc", kFatal, kDrain, "The memory of a GPU had errors that ECC could not correct",
     kGpuMetrics},
    {"gpu_row_remap", kWarning, kNotify,
     "Rows of a GPU's memory wait for a reset of the GPU to be replaced", kGpuMetrics},
    {"gpu_row_remap_failed", kFatal, kDrain, "A GPU has no rows left to replace damaged ones",
     kGpuMetrics},
    {"gpu_throttle", kWarning, kNotify,
     "Heat or the power supply has slowed a GPU down for minutes", kGpuMetrics},
    {"gpu_temperature", kWarning, kNotify,
     "A GPU is hotter than its limit, or much hotter than the other GPUs of the node", kGpuMetrics},
    {"gpu_memory_temperature", kWarning, kNotify,
     "The memory of a GPU is hotter than its highest operating temperature", kGpuMetrics},
    {"gpu_fabric", kFatal, kDrain,
     "A GPU is not, or not well, connected to the machine's NVLink fabric", kGpuMetrics},
    {"nvlink_down", kFatal, kDrain,
     "A GPU has lost NVLinks, or some of those to its baseboard are down", kGpuMetrics},
    {"nvlink_replay", kWarning, kNotify,
     "A GPU's NVLinks send many packets twice, or recover from errors again and again",
     kGpuMetrics},
    {"nvlink_error", kWarning, kNotify, "The driver logged an error of an NVLink", kKernelLog},
    // PCIe
    {"pcie_replay", kWarning, kNotify, "A GPU's PCIe link sends many packets twice", kGpuMetrics},
    {"pcie_degraded", kWarning, kNotify,
     "A GPU uses fewer PCIe lanes than card and slot have together", kGpuMetrics},
    {"pcie_error", kWarning, kNotify, "The kernel logged an uncorrected error of PCIe", kKernelLog},
    // Network
    {"nic_down", kWarning, kNotify,
     "A network interface that had a link has lost it, or its adapter is gone", kNet},
    {"nic_slow", kWarning, kNotify, "The link of a network interface is slower than it was before",
     kNet},
    {"nic_flapping", kWarning, kNotify, "A network interface lost its link again and again", kNet},
    {"nic_errors", kWarning, kNotify, "A network interface receives damaged packets", kNet},
    {"ib_port", kFatal, kDrain,
     "An InfiniBand port that was active is not active any more, or is gone", kInfiniband},
    {"ib_errors", kWarning, kNotify,
     "An InfiniBand port has many symbol errors, or its link recovers or goes down often",
     kInfiniband},
    // Disks and file systems
    {"disk_full", kWarning, kNotify, "A local file system is full", "statvfs"},
    {"inodes_full", kWarning, kNotify, "A local file system has hardly any inodes left", "statvfs"},
    {"disk_readonly", kFatal, kDrain,
     "A local file system that was writable has become read-only or has shut itself down, as after "
     "errors of its disk",
     "/proc/self/mountinfo and kernel log"},
    {"disk_errors", kWarning, kNotify, "The kernel logged errors of a disk or of a file system",
     kKernelLog},
    {"disk_health", kWarning, kNotify, "A disk says of itself that it is failing",
     "smartctl, where smartmontools is installed"},
    {"mount_hung", kFatal, kDrain, "A network file system does not answer",
     "stat, in a child that may hang"},
    // Memory and processors
    {"memory_ecc", kFatal, kDrain, "The memory had errors that could not be corrected", kEdac},
    {"memory_ecc_corrected", kWarning, kNotify, "The memory has many errors, so far corrected ones",
     kEdac},
    {"machine_check", kFatal, kDrain,
     "The processors reported an error of the hardware that was not corrected", kKernelLog},
    {"cpu_temperature", kWarning, kNotify, "A processor was slowed down because of heat",
     kKernelLog},
    {"bmc_sensor", kWarning, kNotify,
     "The machine's management controller says that a fan, a power supply, a voltage, a "
     "temperature "
     "or another sensor is critical",
     kBmc},
    {"bmc_log", kWarning, kNotify,
     "The machine's management controller logged a critical event within the last day, or its log "
     "is full",
     kBmc},
    {"oom_kill", kWarning, kObserve, "The kernel killed a process because memory ran out",
     kKernelLog},
    {"kernel_lockup", kFatal, kDrain, "A processor was stuck in the kernel", kKernelLog},
    {"hung_task", kWarning, kNotify, "A process has been stuck in the kernel for minutes",
     kKernelLog},
    {"kernel_oops", kFatal, kDrain, "The kernel found a bug in itself, or in a driver", kKernelLog},
    // Services
    {"unit_failed", kWarning, kNotify, "A unit of systemd has failed", "systemd"},
    {"slurmd_down", kFatal, kNotify, "Slurm's daemon slurmd is enabled and does not run",
     "systemd"},
    {"munge_down", kFatal, kDrain, "The daemon munged is enabled and does not run", "systemd"},
    {"clock_offset", kWarning, kNotify, "The clock follows no time server, or is off", "adjtimex"},
    // The agent itself
    {"certificate_renewal", kWarning, kNotify,
     "The agent could not renew the node's certificate for more than a day", "client.crt"},
    {"kmsg_reader", kWarning, kNotify,
     "The agent cannot read the kernel's log, or messages were lost before it read them",
     "/dev/kmsg"},
    {"agent_overload", kWarning, kNotify,
     "The agent had to leave conditions out of its report: the node has too many", "the agent"},
};

}  // namespace

absl::Span<const ConditionInfo> Catalogue() { return kConditions; }

const ConditionInfo* FindCondition(absl::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kConditions), std::end(kConditions),
                   [name](const ConditionInfo& condition) { return condition.name == name; });
  return found == std::end(kConditions) ? nullptr : found;
}

absl::string_view Word(Severity severity) {
  return severity == Severity::kFatal ? "fatal" : "warning";
}

absl::string_view Word(DefaultPolicy policy) {
  constexpr absl::string_view kWords[] = {"observe", "notify", "drain"};
  return kWords[static_cast<int>(policy)];
}

}  // namespace muster::health
