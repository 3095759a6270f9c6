// The checks that put GPUs under load.
#include "common/checks/check_tables.h"

namespace muster::checks {
namespace {

constexpr ParameterSpec kGpus = {.name = "gpus",
                                 .type = ParameterType::kWords,
                                 .default_text = "",
                                 .help =
                                     "GPUs to test, by index, range or UUID: 0-3,GPU-…; all by "
                                     "default"};
constexpr ParameterSpec kSeed = {.name = "seed",
                                 .type = ParameterType::kNumber,
                                 .default_text = "1",
                                 .help = "seed of the random data; equal data gives equal digests",
                                 .max = 1e9};

constexpr ParameterSpec kMaxTemperature = {
    .name = "max-temperature",
    .type = ParameterType::kNumber,
    .default_text = "",
    .help =
        "degrees Celsius: a hotter GPU ends its test and fails; the driver's own limit by "
        "default",
    .min = 30,
    .max = 150};

constexpr ParameterSpec kCoolDown = {
    .name = "cool-down",
    .type = ParameterType::kDuration,
    .default_text = "5m",
    .help = "longest time that GPUs above 60 °C may cool down first",
    .max = 86400};

constexpr absl::string_view kTypeWords[] = {"fp32", "fp64", "fp16", "bf16", "tf32", "fp8", "int8"};
constexpr absl::string_view kEngineWords[] = {"auto", "own", "cublas"};

constexpr ParameterSpec kGemmParameters[] = {
    kGpus,
    {.name = "duration",
     .type = ParameterType::kDuration,
     .default_text = "60s",
     .help = "duration of the whole check; the types share it evenly",
     .min = 0.1,
     .max = 604800},
    {.name = "types",
     .type = ParameterType::kWords,
     .default_text = "",
     .help = "types of number to multiply; by default all that GPU and driver support",
     .words = kTypeWords},
    {.name = "engine",
     .type = ParameterType::kWord,
     .default_text = "auto",
     .help = "Muster's kernels (own), cuBLAS, or cuBLAS where it is installed (auto)",
     .words = kEngineWords},
    {.name = "size",
     .type = ParameterType::kNumber,
     .default_text = "0",
     .help = "rows and columns of the matrices, a multiple of 128; 0: by the type, or what fits",
     .max = 32768},
    {.name = "memory",
     .type = ParameterType::kNumber,
     .default_text = "0.9",
     .help = "share of the free memory that the results fill",
     .max = 0.98},
    {.name = "verify",
     .type = ParameterType::kNumber,
     .default_text = "1",
     .help = "share of the results that is compared bit for bit",
     .max = 1},
    kSeed,
    kMaxTemperature,
    kCoolDown,
};

constexpr MetricSpec kGemmMetrics[] = {
    {"tflops_min", "TFLOPS", "gpu", Better::kHigher, "slowest second, by type"},
    {"tflops_median", "TFLOPS", "gpu", Better::kHigher, "median of the seconds, by type"},
    {"tflops_max", "TFLOPS", "gpu", Better::kHigher, "fastest second, by type"},
    {"fraction_of_peak", "1", "gpu", Better::kHigher,
     "median relative to the peak at the measured clock, by type"},
    {"products", "1", "gpu", Better::kNeither, "matrices multiplied, by type"},
    {"verified_products", "1", "gpu", Better::kNeither, "matrices compared bit for bit, by type"},
    MUSTER_TELEMETRY_METRICS,
};

constexpr absl::string_view kPatternWords[] = {"address",    "walking-ones", "walking-zeros",
                                               "inversions", "random",       "fade"};

constexpr ParameterSpec kMemoryParameters[] = {
    kGpus,
    {.name = "patterns",
     .type = ParameterType::kWords,
     .default_text = "address,walking-ones,walking-zeros,inversions,random,fade",
     .help = "patterns that are written and read back",
     .words = kPatternWords},
    {.name = "passes",
     .type = ParameterType::kNumber,
     .default_text = "1",
     .help = "number of passes over all patterns",
     .min = 1,
     .max = 100000},
    {.name = "memory",
     .type = ParameterType::kNumber,
     .default_text = "0.95",
     .help = "share of the free memory that is tested",
     .min = 0.01,
     .max = 0.99},
    {.name = "fade-time",
     .type = ParameterType::kDuration,
     .default_text = "10s",
     .help = "how long the pattern 'fade' leaves its words alone, twice",
     .max = 86400},
    kSeed,
    kMaxTemperature,
    kCoolDown,
};

constexpr MetricSpec kMemoryMetrics[] = {
    {"memory_tested_bytes", "bytes", "gpu", Better::kHigher, "memory that was tested"},
    {"memory_tested_share", "1", "gpu", Better::kHigher,
     "share of the free memory that was tested"},
    {"passes", "1", "gpu", Better::kNeither, "completed passes"},
    {"memory_gbytes_per_s", "GB/s", "gpu", Better::kHigher,
     "copy within the GPU, bytes read and written together"},
    MUSTER_TELEMETRY_METRICS,
};

constexpr ParameterSpec kCopyParameters[] = {
    kGpus,
    {.name = "size",
     .type = ParameterType::kSize,
     .default_text = "256MiB",
     .help = "size of one copy",
     .min = 4096,
     .max = 1e11},
    {.name = "time",
     .type = ParameterType::kDuration,
     .default_text = "1s",
     .help = "duration of each measurement",
     .max = 3600},
    {.name = "peers",
     .type = ParameterType::kFlag,
     .default_text = "true",
     .help = "also copy from each GPU to each other GPU"},
    kSeed,
    kMaxTemperature,
    kCoolDown,
};

constexpr MetricSpec kCopyMetrics[] = {
    {"host_to_gpu_gbytes_per_s", "GB/s", "gpu", Better::kHigher,
     "from page-locked memory of the NUMA node next to the GPU"},
    {"gpu_to_host_gbytes_per_s", "GB/s", "gpu", Better::kHigher, "from the GPU to that memory"},
    {"both_ways_gbytes_per_s", "GB/s", "gpu", Better::kHigher, "both directions at once, summed"},
    {"gpu_to_gpu_gbytes_per_s", "GB/s", "gpu", Better::kHigher,
     "to another GPU directly; the variant is its UUID"},
    {"gpu_to_gpu_staged_gbytes_per_s", "GB/s", "gpu", Better::kHigher,
     "to another GPU through the host, where no direct path exists"},
    MUSTER_NEW_ERRORS_METRIC,
};

constexpr ParameterSpec kGpuCollectiveParameters[] = {
    kGpus,
    {.name = "size",
     .type = ParameterType::kSize,
     .default_text = "256MiB",
     .help = "size of the data of each GPU",
     .min = 4096,
     .max = 1e11},
    {.name = "duration",
     .type = ParameterType::kDuration,
     .default_text = "10s",
     .help = "duration of the measurement",
     .max = 86400},
    kMaxTemperature,
    kCoolDown,
};

constexpr MetricSpec kGpuCollectiveMetrics[] = {
    {"allreduce_algbw_gbytes_per_s", "GB/s", "", Better::kHigher, "size divided by time, median"},
    {"allreduce_busbw_gbytes_per_s", "GB/s", "", Better::kHigher,
     "algbw · 2(n−1)/n: what each link carries"},
    MUSTER_TELEMETRY_METRICS,
};

constexpr ParameterSpec kDcgmParameters[] = {
    kGpus,
    {.name = "level",
     .type = ParameterType::kNumber,
     .default_text = "2",
     .help = "1: quick, 2: some minutes, 3: a quarter of an hour, 4: longer",
     .min = 1,
     .max = 4},
};

constexpr MetricSpec kDcgmMetrics[] = {
    {"tests_passed", "1", "", Better::kNeither, "tests of DCGM that passed, by GPU"},
    {"tests_failed", "1", "", Better::kLower, "that failed"},
    {"tests_warned", "1", "", Better::kLower, "that passed with a warning"},
    {"tests_skipped", "1", "", Better::kNeither, "that DCGM did not run"},
};

constexpr CheckSpec kGpuWorkChecks[] = {
    {.name = "gpu-gemm",
     .scope = Scope::kNode,
     .load = Load::kGpu,
     .parameters = kGemmParameters,
     .metrics = kGemmMetrics,
     .help = "multiplies matrices on all GPUs at once and compares every bit"},
    {.name = "gpu-memory",
     .scope = Scope::kNode,
     .load = Load::kGpu,
     .parameters = kMemoryParameters,
     .metrics = kMemoryMetrics,
     .help = "writes patterns into nearly all memory of the GPUs and reads them back"},
    {.name = "gpu-copy",
     .scope = Scope::kNode,
     .load = Load::kGpu,
     .parameters = kCopyParameters,
     .metrics = kCopyMetrics,
     .help = "copies between host and GPUs, and from GPU to GPU"},
    {.name = "gpu-collective",
     .scope = Scope::kNode,
     .load = Load::kGpu,
     .parameters = kGpuCollectiveParameters,
     .metrics = kGpuCollectiveMetrics,
     .help = "adds up data of all GPUs of a node by NCCL"},
    {.name = "gpu-dcgm",
     .scope = Scope::kNode,
     .load = Load::kGpu,
     .parameters = kDcgmParameters,
     .metrics = kDcgmMetrics,
     .help = "runs the vendor's diagnostics, where DCGM is installed"},
};

}  // namespace

absl::Span<const CheckSpec> GpuWorkChecks() { return kGpuWorkChecks; }

}  // namespace muster::checks
