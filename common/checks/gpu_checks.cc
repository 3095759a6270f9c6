#include "common/checks/check_tables.h"

namespace muster::checks {
namespace {

// gpu-inventory: the GPUs of the node, and whether they are as they should be.

constexpr absl::string_view kOnOff[] = {"on", "off"};

constexpr ParameterSpec kInventoryParameters[] = {
    {.name = "gpus",
     .type = ParameterType::kWords,
     .default_text = "",
     .help = "GPUs to look at, by index, range or UUID: 0-3,GPU-…; all by default"},
    {.name = "count",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "how many GPUs the node has; any number by default",
     .max = 1024},
    {.name = "model",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "what each calls itself, for instance 'NVIDIA GeForce RTX 2080 Ti'; any by default"},
    {.name = "vbios",
     .type = ParameterType::kWords,
     .default_text = "",
     .help = "versions of the video BIOS that are right; any by default"},
    {.name = "driver",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "version of the driver; any by default"},
    {.name = "memory",
     .type = ParameterType::kSize,
     .default_text = "",
     .help = "memory that each has at least; not looked at by default"},
    {.name = "pcie-generation",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "PCIe generation under load; what card and slot can do by default",
     .max = 16},
    {.name = "pcie-width",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "PCIe lanes under load; what card and slot can do by default",
     .max = 32},
    {.name = "nvlinks",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "NVLinks that each GPU has up; by default all where one is up",
     .max = 64},
    {.name = "power-limit",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "watts that each may draw; not looked at by default",
     .max = 10000},
    {.name = "ecc",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "whether memory errors are corrected; not looked at by default",
     .words = kOnOff},
    {.name = "persistence",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "whether the driver keeps a GPU open that nobody uses; not looked at by default",
     .words = kOnOff},
    {.name = "answer-timeout",
     .type = ParameterType::kDuration,
     .default_text = "60s",
     .help = "for how long a GPU may keep the driver waiting",
     .min = 1,
     .max = 600},
};

constexpr MetricSpec kInventoryMetrics[] = {
    {"gpus", "1", "", Better::kHigher, "GPUs that the driver sees"},
    {"memory_bytes", "bytes", "gpu", Better::kHigher, "memory"},
    {"pcie_generation", "1", "gpu", Better::kHigher, "PCIe generation under load"},
    {"pcie_width", "1", "gpu", Better::kHigher, "PCIe lanes under load"},
    {"pcie_replays", "1", "gpu", Better::kLower, "PCIe packets sent again since the driver came"},
    {"power_limit_watts", "W", "gpu", Better::kNeither, "power limit that is in force"},
    {"temperature_celsius", "celsius", "gpu", Better::kNeither, "temperature of the GPU"},
    {"sm_clock_mhz", "MHz", "gpu", Better::kNeither, "SM clock while a little is copied"},
    {"memory_clock_mhz", "MHz", "gpu", Better::kNeither, "memory clock while a little is copied"},
    {"sm_clock_max_mhz", "MHz", "gpu", Better::kNeither, "the highest SM clock"},
    {"memory_clock_max_mhz", "MHz", "gpu", Better::kNeither, "the highest memory clock"},
    {"ecc_corrected", "1", "gpu", Better::kLower, "corrected memory errors of its life"},
    {"ecc_uncorrected", "1", "gpu", Better::kLower, "uncorrected memory errors of its life"},
    {"remapped_rows", "1", "gpu", Better::kLower, "memory rows replaced, by cause"},
    {"retired_pages", "1", "gpu", Better::kLower, "memory pages retired, by cause"},
    {"nvlinks_up", "1", "gpu", Better::kHigher, "NVLinks that are up"},
    {"nvlink_errors", "1", "gpu", Better::kLower, "errors of all its NVLinks, by counter"},
};

constexpr CheckSpec kGpuChecks[] = {
    {.name = "gpu-inventory",
     .scope = Scope::kNode,
     .load = Load::kIdle,
     .parameters = kInventoryParameters,
     .metrics = kInventoryMetrics,
     .help = "which GPUs there are, their links, memory errors and versions"},
};

}  // namespace

absl::Span<const CheckSpec> GpuChecks() { return kGpuChecks; }

}  // namespace muster::checks
