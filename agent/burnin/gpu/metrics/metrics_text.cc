#include "agent/burnin/gpu/metrics/metrics_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace muster::burnin {
namespace {

void Head(std::string& text, absl::string_view name, absl::string_view help,
          absl::string_view type) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

void Line(std::string& text, absl::string_view name, absl::string_view labels, double value) {
  absl::StrAppend(&text, name, labels.empty() ? "" : "{", labels, labels.empty() ? "" : "}", " ");
  absl::StrAppendFormat(&text, "%.17g\n", value);
}

std::string Label(absl::string_view name, absl::string_view value) {
  return absl::StrCat(name, "=\"",
                      absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
                      "\"");
}

std::string LabelsOf(const GpuSample& gpu) {
  return absl::StrCat(Label("gpu", absl::StrCat(gpu.index)), ",", Label("uuid", gpu.uuid));
}

}  // namespace

std::string MetricsText(const NodeSample& sample, std::optional<unsigned> expected) {
  std::string text;
  Head(text, "muster_gpu_driver_up", "Whether the driver answers", "gauge");
  Line(text, "muster_gpu_driver_up", "", sample.driver_version.empty() ? 0 : 1);
  // A comment to Prometheus; the agent's health shows it.
  if (!sample.why_not.empty())
    absl::StrAppend(&text, "# muster_gpu_driver_up is 0: ",
                    absl::StrReplaceAll(sample.why_not, {{"\n", " "}}), "\n");
  Head(text, "muster_gpu_count", "GPUs that the driver has and that answer", "gauge");
  Line(text, "muster_gpu_count", "",
       static_cast<double>(std::count_if(sample.gpus.begin(), sample.gpus.end(),
                                         [](const GpuSample& gpu) { return !gpu.is_lost; })));
  if (expected.has_value()) {
    Head(text, "muster_gpu_expected", "GPUs that the node should have", "gauge");
    Line(text, "muster_gpu_expected", "", *expected);
  }
  if (sample.gpus.empty()) return text;
  Head(text, "muster_gpu_info", "The GPUs, by index and uuid", "gauge");
  for (const GpuSample& gpu : sample.gpus) {
    Line(text, "muster_gpu_info",
         absl::StrCat(LabelsOf(gpu), ",", Label("model", gpu.model), ",",
                      Label("pci", gpu.pci_address), ",", Label("driver", sample.driver_version)),
         1);
  }
  Head(text, "muster_gpu_lost",
       "Whether the GPU does not answer: it fell off the bus, needs a reset or lacks power",
       "gauge");
  for (const GpuSample& gpu : sample.gpus)
    Line(text, "muster_gpu_lost", LabelsOf(gpu), gpu.is_lost);
  const absl::Span<const GpuMetric> metrics = GpuMetrics();
  absl::string_view before;
  for (size_t i = 0; i < metrics.size(); ++i) {
    for (const GpuSample& gpu : sample.gpus) {
      if (!gpu.values[i].has_value()) continue;
      if (before != metrics[i].name) Head(text, metrics[i].name, metrics[i].help, metrics[i].type);
      before = metrics[i].name;
      Line(text, metrics[i].name,
           absl::StrCat(LabelsOf(gpu), metrics[i].labels[0] == '\0' ? "" : ",", metrics[i].labels),
           *gpu.values[i]);
    }
  }
  return text;
}

std::string PowerText(double watts) {
  std::string text;
  Head(text, "muster_node_power_watts", "Power that the machine draws, by its own meter", "gauge");
  Line(text, "muster_node_power_watts", "", watts);
  return text;
}

}  // namespace muster::burnin
