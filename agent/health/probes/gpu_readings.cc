#include "agent/health/probes/gpu_readings.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::agent::health {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kLongestReason = 400;

struct Line {
  absl::string_view name;
  Labels labels;
  double value = 0;
};

// `name="value",…}` up to the brace, which is consumed; nullopt: something else.
std::optional<Labels> TakeLabels(absl::string_view& text) {
  Labels labels;
  while (true) {
    const size_t equals = text.find("=\"");
    if (equals == absl::string_view::npos) return std::nullopt;
    const std::string name(text.substr(0, equals));
    std::string value;
    size_t at = equals + 2;
    for (; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      value += text[at];
    }
    if (at + 1 >= text.size()) return std::nullopt;
    labels.emplace_back(name, std::move(value));
    text.remove_prefix(at + 1);
    const char next = text.front();
    text.remove_prefix(1);
    if (next == '}') return labels;
    if (next != ',') return std::nullopt;
  }
}

std::optional<Line> ParseLine(absl::string_view text) {
  Line line;
  const size_t end = text.find_first_of("{ ");
  if (end == absl::string_view::npos || end == 0) return std::nullopt;
  line.name = text.substr(0, end);
  const bool has_labels = text[end] == '{';
  text.remove_prefix(end + 1);
  if (has_labels) {
    std::optional<Labels> labels = TakeLabels(text);
    if (!labels.has_value()) return std::nullopt;
    line.labels = *std::move(labels);
  }
  if (!absl::SimpleAtod(text, &line.value) || !std::isfinite(line.value)) return std::nullopt;
  return line;
}

// Those labels that say which GPU it is, apart from that of the value itself.
constexpr absl::string_view kOfGpu[] = {"gpu", "uuid", "model", "pci", "driver"};

std::string LabelOf(const Line& line, absl::string_view name) {
  for (const auto& [label, value] : line.labels)
    if (label == name) return value;
  return "";
}

// A value that is bad when it is not 0.
struct Flag {
  const char* value;
  const char* condition;
  const char* evidence;
};
constexpr Flag kFlags[] = {
    {"muster_gpu_lost", "gpu_lost",
     "it does not answer: it has fallen off the bus, needs a reset, or lacks power"},
    {R"(muster_gpu_slowed{reason="thermal"})", "gpu_throttle",
     "it is slowed down because it is too hot: check fans, dust and air flow"},
    {R"(muster_gpu_slowed{reason="power_brake"})", "gpu_throttle",
     "it is slowed down by the power supply (power brake): check supplies and cables"},
    {"muster_gpu_remapping_pending", "gpu_row_remap",
     "rows of its memory wait for a reset to be replaced: nvidia-smi -r, or a reboot"},
    {"muster_gpu_remapping_failed", "gpu_row_remap_failed",
     "it has no rows left to replace damaged ones: replace the GPU"},
    {R"(muster_gpu_fabric_trouble{kind="not_ready"})", "gpu_fabric",
     "it is not part of the NVLink fabric: is nvidia-fabricmanager running?"},
    {R"(muster_gpu_fabric_trouble{kind="error"})", "gpu_fabric",
     "it could not join the NVLink fabric: look into the fabric manager's log and for SXid in the "
     "kernel's"},
    {R"(muster_gpu_fabric_trouble{kind="unhealthy"})", "gpu_fabric",
     "it is not well connected to the NVLink fabric: muster-burnin gpu-inventory says how"},
};

// From this share of utilization or of the power limit on, a GPU counts as busy.
constexpr double kBusy = 0.5;
// A GPU with a smaller share of another's power does not work as hard, whatever its utilization.
constexpr double kAsHard = 0.75;
constexpr size_t kFewestPeers = 2;

bool IsBusy(const GpuReading& gpu) {
  if (const auto use = gpu.Value("muster_gpu_utilization_ratio")) return *use >= kBusy;
  const auto watts = gpu.Value("muster_gpu_power_watts");
  const auto limit = gpu.Value("muster_gpu_power_limit_watts");
  return watts.has_value() && limit.has_value() && *watts >= kBusy * *limit;
}

// Whether the other one should be as hot.
bool IsPeer(const GpuReading& gpu, const GpuReading& other) {
  if (gpu.model != other.model || !IsBusy(gpu) || !IsBusy(other)) return false;
  const auto own = gpu.Value("muster_gpu_power_watts");
  const auto theirs = other.Value("muster_gpu_power_watts");
  return !own.has_value() || !theirs.has_value() || *theirs >= kAsHard * *own;
}

// nullopt: there are too few peers to compare with.
std::optional<double> MedianOfPeers(const std::vector<const GpuReading*>& gpus,
                                    const GpuReading& gpu) {
  std::vector<double> peers;
  for (const GpuReading* other : gpus)
    if (other != &gpu && IsPeer(gpu, *other))
      peers.push_back(*other->Value("muster_gpu_temperature_celsius"));
  if (peers.size() < kFewestPeers) return std::nullopt;
  std::nth_element(peers.begin(), peers.begin() + peers.size() / 2, peers.end());
  return peers[peers.size() / 2];
}

// `gpus` are those that tell their temperature.
void JudgeTemperatures(const std::vector<const GpuReading*>& gpus,
                       const muster::health::Limits& limits, Findings& findings) {
  for (const GpuReading* gpu : gpus) {
    const double own = *gpu->Value("muster_gpu_temperature_celsius");
    const std::optional<double> peers = MedianOfPeers(gpus, *gpu);
    if (own > limits.Of("gpu_temperature.celsius")) {
      findings.Bad("gpu_temperature", gpu->name(), absl::StrCat("it has ", own, " °C"));
    } else if (peers.has_value() &&
               own - *peers > limits.Of("gpu_temperature.kelvin_above_others")) {
      findings.Bad("gpu_temperature", gpu->name(),
                   absl::StrCat("it has ", own, " °C, the node's other GPUs that work as hard ",
                                *peers, " °C"));
    }
  }
}

// The names of counters: "gpu/GPU-5c1f…/ecc_uncorrected".
constexpr char kGpuCounters[] = "gpu/";
constexpr char kEcc[] = "/ecc_uncorrected";
constexpr char kNvlink[] = "/nvlink_";
struct ConditionCounter {
  absl::string_view condition;
  absl::string_view counter;
};
// Conditions that last as long as what was counted is remembered.
constexpr ConditionCounter kHeldCounters[] = {{"gpu_ecc", kEcc}, {"nvlink_replay", kNvlink}};

// Errors that NVLinks repair, and what each of them counts. Recoveries announce a link's end by
// days.
struct LinkError {
  const char* kind;
  double weight;
};
constexpr LinkError kLinkErrors[] = {
    {"replay", 1}, {"crc_flit", 1}, {"crc_data", 1}, {"recovery", 25}};

void JudgeLinks(const GpuReading& gpu, const muster::health::Limits& limits, Trends& trends,
                absl::Time now, Findings& findings) {
  // A link that goes down may take what it has counted out of the sum: sums over different links
  // are not compared.
  const double up = gpu.Value("muster_gpu_nvlinks_up").value_or(0);
  double weighed = 0;
  std::vector<std::string> grown;
  for (const LinkError& row : kLinkErrors) {
    const auto errors =
        gpu.Value(absl::StrCat("muster_gpu_nvlink_errors_total{kind=\"", row.kind, "\"}"));
    if (!errors.has_value()) continue;
    const std::string name = absl::StrCat(kGpuCounters, gpu.name(), kNvlink, row.kind, "/", up);
    const double in_day = trends.Add(name, *errors, now).in_day;
    if (in_day > 0) grown.push_back(absl::StrCat(row.kind, " ", in_day));
    weighed += row.weight * in_day;
  }
  if (weighed > limits.Of("nvlink_replay.per_day"))
    findings.Bad("nvlink_replay", gpu.name(),
                 absl::StrCat("errors that its NVLinks repaired within a day: ",
                              absl::StrJoin(grown, ", "), ": check the bridge or the baseboard"));
}

void JudgeMemoryTemperature(const GpuReading& gpu, const muster::health::Limits& limits,
                            Findings& findings) {
  const auto celsius = gpu.Value("muster_gpu_memory_temperature_celsius");
  const double limit = gpu.Value("muster_gpu_memory_temperature_limit_celsius")
                           .value_or(limits.Of("gpu_memory_temperature.celsius"));
  if (celsius.value_or(0) > limit)
    findings.Bad("gpu_memory_temperature", gpu.name(),
                 absl::StrCat("its memory has ", *celsius, " °C, of at most ", limit,
                              " °C: check fans, dust and air flow"));
}

void JudgeCounters(const GpuReading& gpu, const muster::health::Limits& limits, Trends& trends,
                   absl::Time now, Findings& findings) {
  if (const auto errors = gpu.Value(R"(muster_gpu_ecc_errors_total{kind="uncorrected"})")) {
    const double grown =
        trends.Add(absl::StrCat(kGpuCounters, gpu.name(), kEcc), *errors, now).in_boot;
    if (grown > 0)
      findings.Bad("gpu_ecc", gpu.name(),
                   absl::StrCat(grown,
                                " uncorrectable errors of its memory since the boot: "
                                "reset the GPU (nvidia-smi -r) and run gpu-memory"));
  }
  if (const auto replays = gpu.Value("muster_gpu_pcie_replays_total")) {
    const double in_hour =
        trends.Add(absl::StrCat(kGpuCounters, gpu.name(), "/pcie_replays"), *replays, now).in_hour;
    if (in_hour > 60 * limits.Of("pcie_replay.per_minute"))
      findings.Bad("pcie_replay", gpu.name(),
                   absl::StrCat(in_hour, " PCIe packets were sent again within an hour: ",
                                "reseat the card, check the riser"));
  }
  const auto width = gpu.Value("muster_gpu_pcie_width");
  const auto most = gpu.Value("muster_gpu_pcie_max_width");
  if (width.has_value() && most.has_value() && *width > 0 && *width < *most)
    findings.Bad("pcie_degraded", gpu.name(),
                 absl::StrCat("it uses ", *width, " of ", *most, " PCIe lanes: reseat the card"));
}

}  // namespace

std::optional<double> GpuReading::Value(absl::string_view name) const {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

GpuReadings ParseGpuReadings(absl::string_view text) {
  GpuReadings readings;
  std::map<std::string, GpuReading> gpus;  // by index
  for (const absl::string_view row : absl::StrSplit(text, '\n')) {
    // The reason stands in a comment, which is none of Prometheus' values.
    absl::string_view why = row;
    if (absl::ConsumePrefix(&why, "# muster_gpu_driver_up is 0: "))
      readings.why_no_driver = std::string(why.substr(0, kLongestReason));
    if (absl::StartsWith(row, "#")) continue;
    const std::optional<Line> line = ParseLine(row);
    if (!line.has_value()) continue;
    if (line->name == "muster_gpu_driver_up") readings.has_driver = line->value != 0;
    if (line->name == "muster_node_power_watts") readings.node_power_watts = line->value;
    const std::string index = LabelOf(*line, "gpu");
    if (index.empty() || (gpus.size() >= kMaxGpus && gpus.count(index) == 0)) continue;
    GpuReading& gpu = gpus[index];
    gpu.index = index;
    gpu.uuid = LabelOf(*line, "uuid");
    if (line->name == "muster_gpu_info") {
      gpu.pci_address = LabelOf(*line, "pci");
      gpu.model = LabelOf(*line, "model");
    }
    std::string name(line->name);
    for (const auto& [label, value] : line->labels) {
      if (std::find(std::begin(kOfGpu), std::end(kOfGpu), label) == std::end(kOfGpu))
        absl::StrAppend(&name, "{", label, "=\"", value, "\"}");
    }
    if (gpu.values.size() < 100) gpu.values[name] = line->value;
  }
  for (auto& [index, gpu] : gpus) readings.gpus.push_back(std::move(gpu));
  return readings;
}

bool IsCounterOf(absl::string_view name, absl::string_view condition, absl::string_view object) {
  for (const ConditionCounter& row : kHeldCounters) {
    if (row.condition != condition || !absl::ConsumePrefix(&name, kGpuCounters)) continue;
    return object.empty() ? absl::StrContains(name, row.counter)
                          : absl::StartsWith(name, absl::StrCat(object, row.counter));
  }
  return false;
}

void JudgeGpus(const GpuReadings& readings, const muster::health::Limits& limits, Trends& trends,
               absl::Time now, Findings& findings) {
  std::vector<const GpuReading*> warm;
  for (const GpuReading& gpu : readings.gpus) {
    for (const Flag& flag : kFlags)
      if (gpu.Value(flag.value).value_or(0) != 0)
        findings.Bad(flag.condition, gpu.name(), flag.evidence);
    JudgeCounters(gpu, limits, trends, now, findings);
    JudgeLinks(gpu, limits, trends, now, findings);
    JudgeMemoryTemperature(gpu, limits, findings);
    if (gpu.Value("muster_gpu_temperature_celsius").has_value()) warm.push_back(&gpu);
  }
  JudgeTemperatures(warm, limits, findings);
}

}  // namespace muster::agent::health
