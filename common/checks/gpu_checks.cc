#include "common/checks/check_tables.h"

namespace muster::checks {
namespace {

// gpu-inventory: the GPUs of the node, and whether they are as they should be.

constexpr absl::string_view kOnOff[] = {"on", "off"};

constexpr ParameterSpec kInventoryParameters[] = {
    {.name = "gpus",
     .type = ParameterType::kWords,
     .default_text = "",
     .help = "GPUs to check, by index, range or UUID: 0-3,GPU-…; all by default"},
    {.name = "count",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "expected number of GPUs; any number by default",
     .max = 1024},
    {.name = "model",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "expected model name, for instance 'NVIDIA GeForce RTX 2080 Ti'; any by default"},
    {.name = "vbios",
     .type = ParameterType::kWords,
     .default_text = "",
     .help = "accepted versions of the video BIOS; any by default"},
    {.name = "driver",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "expected version of the driver; any by default"},
    {.name = "memory",
     .type = ParameterType::kSize,
     .default_text = "",
     .help = "minimum memory of each GPU; not checked by default"},
    {.name = "pcie-generation",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "expected PCIe generation under load; by default the maximum of card and slot",
     .max = 16},
    {.name = "pcie-width",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "expected PCIe lanes under load; by default the maximum of card and slot",
     .max = 32},
    {.name = "nvlinks",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "NVLinks that must be up on each GPU; by default all if one is up",
     .max = 64},
    {.name = "power-limit",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "expected power limit in watts; not checked by default",
     .max = 10000},
    {.name = "ecc",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "whether memory errors are corrected; not checked by default",
     .words = kOnOff},
    {.name = "persistence",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "whether the driver keeps unused GPUs open; not checked by default",
     .words = kOnOff},
    {.name = "answer-timeout",
     .type = ParameterType::kDuration,
     .default_text = "60s",
     .help = "how long a GPU may take to answer the driver",
     .min = 1,
     .max = 600},
};

constexpr MetricSpec kInventoryMetrics[] = {
    {"gpus", "1", "", Better::kHigher, "GPUs that the driver sees"},
    {"memory_bytes", "bytes", "gpu", Better::kHigher, "memory"},
    {"pcie_generation", "1", "gpu", Better::kHigher, "PCIe generation under load"},
    {"pcie_width", "1", "gpu", Better::kHigher, "PCIe lanes under load"},
    {"pcie_replays", "1", "gpu", Better::kLower,
     "PCIe packets sent again since the driver was loaded"},
    {"power_limit_watts", "W", "gpu", Better::kNeither, "power limit that is in force"},
    {"temperature_celsius", "celsius", "gpu", Better::kNeither, "temperature of the GPU"},
    {"sm_clock_mhz", "MHz", "gpu", Better::kNeither, "SM clock during a small copy"},
    {"memory_clock_mhz", "MHz", "gpu", Better::kNeither, "memory clock during a small copy"},
    {"sm_clock_max_mhz", "MHz", "gpu", Better::kNeither, "the highest SM clock"},
    {"memory_clock_max_mhz", "MHz", "gpu", Better::kNeither, "the highest memory clock"},
    {"ecc_corrected", "1", "gpu", Better::kLower, "corrected memory errors in its lifetime"},
    {"ecc_uncorrected", "1", "gpu", Better::kLower, "uncorrected memory errors in its lifetime"},
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
     .help = "GPUs present, their links, memory errors and versions"},
};

}  // namespace

absl::Span<const CheckSpec> GpuChecks() { return kGpuChecks; }

}  // namespace muster::checks
