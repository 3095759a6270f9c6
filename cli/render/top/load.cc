#include "cli/render/top/load.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "cli/render/plain_text.h"
#include "common/base/text/counted.h"
#include "muster/v1/reading.pb.h"

namespace muster::cli {
namespace {

constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr char kUnknownBar[] = "?";
constexpr char kLostBar[] = "x";

void Add(std::optional<double>& sum, double value) { sum = sum.value_or(0) + value; }

void TakeGpus(const v1::NodeReadings& readings, Load& load) {
  size_t known = 0;
  double busy = 0;
  for (const v1::GpuReading& gpu : readings.gpus()) {
    ++load.gpus;
    if (gpu.is_lost()) {
      load.bars += kLostBar;
      load.note = absl::StrCat("GPU ", gpu.index(), " is lost");
      continue;
    }
    load.bars += gpu.has_busy_ratio() ? Bar(gpu.busy_ratio()) : kUnknownBar;
    if (gpu.has_busy_ratio()) busy += gpu.busy_ratio();
    known += gpu.has_busy_ratio();
    if (gpu.has_power_watts()) Add(load.gpu_watts, gpu.power_watts());
    if (gpu.has_temperature_celsius())
      load.hottest_celsius =
          std::max<double>(load.hottest_celsius.value_or(-273), gpu.temperature_celsius());
  }
  if (known > 0) load.gpu = busy / static_cast<double>(known);
}

// Sums up nodes.
class Sum {
 public:
  explicit Sum(std::string name) { load_.name = std::move(name); }

  void Take(const Load& node) {
    ++load_.all_nodes;
    if (!node.note.empty()) ++troubled_;
    if (node.nodes == 0) return;
    ++load_.nodes;
    load_.gpus += node.gpus;
    Mean(node.cpu, 1, cpu_);
    Mean(node.memory, 1, memory_);
    Mean(node.gpu, static_cast<double>(node.gpus), gpu_);
    if (node.hottest_celsius.has_value())
      load_.hottest_celsius = std::max(load_.hottest_celsius.value_or(-273), *node.hottest_celsius);
    if (node.gpu_watts.has_value()) Add(load_.gpu_watts, *node.gpu_watts);
    metered_ += node.is_all_power;
    if (node.watts.has_value()) Add(load_.watts, *node.watts);
    if (node.received.has_value()) Add(load_.received, *node.received);
    if (node.sent.has_value()) Add(load_.sent, *node.sent);
  }

  Load Result() && {
    load_.cpu = cpu_.Value();
    load_.memory = memory_.Value();
    load_.gpu = gpu_.Value();
    load_.is_all_power = metered_ == load_.nodes;
    if (troubled_ > 0) load_.note = absl::StrCat("trouble on ", Counted(troubled_, "node"));
    return std::move(load_);
  }

 private:
  struct Weighted {
    double sum = 0;
    double weight = 0;
    std::optional<double> Value() const {
      if (weight == 0) return std::nullopt;
      return sum / weight;
    }
  };
  static void Mean(std::optional<double> value, double weight, Weighted& mean) {
    if (!value.has_value()) return;
    mean.sum += *value * weight;
    mean.weight += weight;
  }

  Load load_;
  Weighted cpu_, memory_, gpu_;
  size_t metered_ = 0;
  size_t troubled_ = 0;
};

}  // namespace

std::string Bar(double ratio) {
  const double levels = std::size(kBars);
  const double level = std::floor(std::clamp(ratio, 0.0, 1.0) * levels);
  return kBars[static_cast<size_t>(std::min(level, levels - 1))];
}

Load LoadOf(const v1::WatchedNode& node) {
  Load load;
  load.name = node.node();
  load.all_nodes = 1;
  if (!node.has_readings()) {
    load.note = node.connected() ? "has sent no reading yet" : "is not connected";
    return load;
  }
  load.nodes = 1;
  const v1::NodeReadings& readings = node.readings();
  if (readings.has_cpu_busy_ratio()) load.cpu = readings.cpu_busy_ratio();
  if (readings.memory_total_bytes() > 0)
    load.memory = static_cast<double>(readings.memory_used_bytes()) /
                  static_cast<double>(readings.memory_total_bytes());
  if (readings.has_power_watts()) load.node_watts = readings.power_watts();
  for (const v1::LinkReading& link : readings.links()) {
    Add(load.received, link.received_bytes_per_s());
    Add(load.sent, link.sent_bytes_per_s());
  }
  TakeGpus(readings, load);
  load.is_all_power = load.node_watts.has_value();
  load.watts = load.is_all_power ? load.node_watts : load.gpu_watts;
  if (!readings.gpu_trouble().empty())
    load.note = absl::StrCat("GPUs: ", CleanLine(readings.gpu_trouble()));
  return load;
}

std::vector<Load> LoadsOfRacks(const v1::GetReadingsResponse& answer) {
  std::map<std::string, Sum> sums;
  for (const v1::WatchedNode& node : answer.nodes())
    sums.try_emplace(node.rack(), node.rack().empty() ? "-" : node.rack())
        .first->second.Take(LoadOf(node));
  std::vector<Load> loads;
  for (const v1::WatchedRack& rack : answer.racks()) {
    const auto sum = sums.find(rack.rack());
    if (sum == sums.end()) continue;
    loads.push_back(std::move(sum->second).Result());
    if (rack.has_power_limit_watts()) loads.back().limit_watts = rack.power_limit_watts();
    sums.erase(sum);
  }
  for (auto& [name, sum] : sums) loads.push_back(std::move(sum).Result());
  return loads;
}

Load LoadOfAll(const v1::GetReadingsResponse& answer) {
  Sum sum("all");
  for (const v1::WatchedNode& node : answer.nodes()) sum.Take(LoadOf(node));
  return std::move(sum).Result();
}

}  // namespace muster::cli
