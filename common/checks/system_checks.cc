#include "common/checks/check_tables.h"

namespace muster::checks {
namespace {

constexpr ParameterSpec Duration(absl::string_view default_text, absl::string_view help) {
  return {.name = "duration",
          .type = ParameterType::kDuration,
          .default_text = default_text,
          .help = help,
          .min = 1,
          .max = 86400};
}

// cpu-stress

constexpr ParameterSpec kCpuStressParameters[] = {Duration("60s", "how long to compute")};
constexpr MetricSpec kCpuStressMetrics[] = {
    {"cpu_ops_per_s", "1/s", "", Better::kHigher, "stress-ng's bogus operations per second"},
};

// memory-stress

constexpr ParameterSpec kMemoryStressParameters[] = {
    Duration("60s", "how long to write and compare"),
    {.name = "fraction",
     .type = ParameterType::kNumber,
     .default_text = "0.8",
     .help = "share of the free memory that is tested; the page cache is emptied before",
     .min = 0.01,
     .max = 0.95},
};
constexpr MetricSpec kMemoryStressMetrics[] = {
    {"memory_ops_per_s", "1/s", "", Better::kHigher, "stress-ng's bogus operations per second"},
    {"memory_tested_bytes", "bytes", "", Better::kNeither, "memory that was tested"},
};

// memory-bandwidth

constexpr ParameterSpec kMemoryBandwidthParameters[] = {
    Duration("10s", "how long to measure; the best pass counts"),
    {.name = "size",
     .type = ParameterType::kSize,
     .default_text = "3GiB",
     .help = "memory that is used; must be far larger than all caches",
     .min = 1 << 20},
};
constexpr MetricSpec kMemoryBandwidthMetrics[] = {
    {"copy_gbytes_per_s", "GB/s", "", Better::kHigher, "a = b, by all processors"},
    {"triad_gbytes_per_s", "GB/s", "", Better::kHigher, "a = b + s·c, by all processors"},
};

// disk

constexpr ParameterSpec kDiskParameters[] = {
    {.name = "paths",
     .type = ParameterType::kWords,
     .default_text = "",
     .help = "folders on the file systems to test; skipped without any"},
    Duration("15s", "duration of each of the four patterns"),
    {.name = "size",
     .type = ParameterType::kSize,
     .default_text = "1GiB",
     .help = "size of the file that is written and removed",
     .min = 1 << 20},
};
constexpr MetricSpec kDiskMetrics[] = {
    {"mbytes_per_s", "MB/s", "file_system", Better::kHigher, "throughput, by pattern"},
    {"iops", "1/s", "file_system", Better::kHigher, "operations per second, by pattern"},
    {"latency_p99_ms", "ms", "file_system", Better::kLower, "99th percentile, by pattern"},
};

// file-systems

constexpr ParameterSpec kFileSystemsParameters[] = {
    {.name = "paths",
     .type = ParameterType::kWords,
     .default_text = "",
     .help = "folders where a file system must be mounted; skipped without any"},
    {.name = "min-free",
     .type = ParameterType::kSize,
     .default_text = "0",
     .help = "free space that each must have"},
};
constexpr MetricSpec kFileSystemsMetrics[] = {
    {"free_bytes", "bytes", "file_system", Better::kHigher, "free space for users"},
};

// clock

constexpr ParameterSpec kClockParameters[] = {
    {.name = "max-offset",
     .type = ParameterType::kDuration,
     .default_text = "50ms",
     .help = "how far the clock may be off"},
    {.name = "wait",
     .type = ParameterType::kDuration,
     .default_text = "30s",
     .help = "how long a clock may take to follow a server, for instance after a boot",
     .min = 0,
     .max = 3600},
};
constexpr MetricSpec kClockMetrics[] = {
    {"clock_offset_ms", "ms", "", Better::kLower, "how far the clock is off"},
    {"clock_error_ms", "ms", "", Better::kLower, "maximum error of that offset"},
    {"clock_stratum", "1", "", Better::kLower,
     "servers between this clock and the reference clock"},
};

// machine-errors

constexpr ParameterSpec kMachineErrorsParameters[] = {
    {.name = "duration",
     .type = ParameterType::kDuration,
     .default_text = "1s",
     .help = "how long new errors are counted",
     .min = 0,
     .max = 86400},
};
constexpr MetricSpec kMachineErrorsMetrics[] = {
    {"memory_corrected", "1", "", Better::kLower, "corrected memory errors since the boot"},
    {"memory_corrected_new", "1", "", Better::kLower, "corrected memory errors during the check"},
    {"memory_uncorrected", "1", "", Better::kLower, "uncorrected memory errors since the boot"},
    {"machine_checks", "1", "", Better::kLower, "machine check exceptions since the boot"},
    {"kernel_log_errors", "1", "", Better::kLower,
     "lines of the kernel's log about broken hardware"},
    {"kernel_log_corrected", "1", "", Better::kLower,
     "lines of the kernel's log about errors that the hardware has corrected"},
    {"gpu_application_errors", "1", "", Better::kNeither,
     "GPU errors in the kernel's log that a job's own program caused"},
};

// slurm-node

constexpr ParameterSpec kSlurmNodeParameters[] = {
    {.name = "wait",
     .type = ParameterType::kDuration,
     .default_text = "30s",
     .help = "how long slurmd may take to register, for instance after a boot",
     .min = 0,
     .max = 3600},
    {.name = "count-gpus",
     .type = ParameterType::kFlag,
     .default_text = "true",
     .help = "whether Slurm must have the GPUs that the driver lists"},
};
constexpr MetricSpec kSlurmNodeMetrics[] = {
    {"slurm_memory_margin_mib", "MiB", "", Better::kNeither, "memory that Slurm does not allocate"},
};

constexpr CheckSpec kSystemChecks[] = {
    {.name = "cpu-stress",
     .scope = Scope::kNode,
     .load = Load::kCpu,
     .parameters = kCpuStressParameters,
     .metrics = kCpuStressMetrics,
     .help = "all processors compute and verify, by stress-ng"},
    {.name = "memory-stress",
     .scope = Scope::kNode,
     .load = Load::kCpu,
     .parameters = kMemoryStressParameters,
     .metrics = kMemoryStressMetrics,
     .help = "memory is written and compared, by stress-ng"},
    {.name = "memory-bandwidth",
     .scope = Scope::kNode,
     .load = Load::kCpu,
     .parameters = kMemoryBandwidthParameters,
     .metrics = kMemoryBandwidthMetrics,
     .help = "how fast all processors together read and write memory"},
    {.name = "disk",
     .scope = Scope::kNode,
     .load = Load::kIdle,
     .parameters = kDiskParameters,
     .metrics = kDiskMetrics,
     .help = "throughput and latency of named file systems, by fio"},
    {.name = "file-systems",
     .scope = Scope::kNode,
     .load = Load::kIdle,
     .parameters = kFileSystemsParameters,
     .metrics = kFileSystemsMetrics,
     .help = "whether named file systems are mounted, writable and have room"},
    {.name = "clock",
     .scope = Scope::kNode,
     .load = Load::kIdle,
     .parameters = kClockParameters,
     .metrics = kClockMetrics,
     .help = "how far the clock is off, as reported by chrony"},
    {.name = "machine-errors",
     .scope = Scope::kNode,
     .load = Load::kIdle,
     .parameters = kMachineErrorsParameters,
     .metrics = kMachineErrorsMetrics,
     .help = "memory errors, machine checks and hardware errors in the kernel's log"},
    {.name = "slurm-node",
     .scope = Scope::kNode,
     .load = Load::kIdle,
     .parameters = kSlurmNodeParameters,
     .metrics = kSlurmNodeMetrics,
     .help = "whether Slurm sees this node as it is and would start jobs on it"},
};

}  // namespace

absl::Span<const CheckSpec> SystemChecks() { return kSystemChecks; }

}  // namespace muster::checks
