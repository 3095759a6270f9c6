#include "cli/render/top/top_report.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/top/load.h"
#include "common/base/text/counted.h"
#include "muster/v1/reading.pb.h"

namespace muster::cli {
namespace {

constexpr char kAbsent[] = "-";

std::string Percent(std::optional<double> ratio) {
  return ratio.has_value() ? absl::StrFormat("%.0f %%", 100 * *ratio) : kAbsent;
}

std::string Watts(std::optional<double> watts) {
  if (!watts.has_value()) return kAbsent;
  if (*watts < 10'000) return absl::StrFormat("%.0f W", *watts);
  if (*watts < 1'000'000) return absl::StrFormat("%.1f kW", *watts / 1'000);
  return absl::StrFormat("%.2f MW", *watts / 1'000'000);
}

std::string Degrees(std::optional<double> celsius) {
  return celsius.has_value() ? absl::StrFormat("%.0f °C", *celsius) : kAbsent;
}

std::string Rate(std::optional<double> rate) {
  return rate.has_value() ? HumanRate(*rate) : kAbsent;
}

std::string Gib(uint64_t bytes) {
  return absl::StrFormat("%.1f", static_cast<double>(bytes) / (1 << 30));
}

struct OrderRow {
  absl::string_view name;
  TopOrder order;
  std::optional<double> (*key)(const Load&);
};
constexpr OrderRow kOrders[] = {
    {"name", TopOrder::kName, nullptr},
    {"cpu", TopOrder::kCpu, [](const Load& load) { return load.cpu; }},
    {"memory", TopOrder::kMemory, [](const Load& load) { return load.memory; }},
    {"gpu", TopOrder::kGpu, [](const Load& load) { return load.gpu; }},
    {"temperature", TopOrder::kTemperature, [](const Load& load) { return load.hottest_celsius; }},
    {"power", TopOrder::kPower, [](const Load& load) { return load.watts; }},
    {"network", TopOrder::kNetwork,
     [](const Load& load) -> std::optional<double> {
       if (!load.received.has_value()) return std::nullopt;
       return *load.received + load.sent.value_or(0);
     }},
};

void Sort(std::vector<Load>& loads, TopOrder order) {
  const auto* const row = std::find_if(std::begin(kOrders), std::end(kOrders),
                                       [&](const OrderRow& each) { return each.order == order; });
  if (row->key == nullptr) return;
  std::stable_sort(loads.begin(), loads.end(), [&](const Load& a, const Load& b) {
    return row->key(a).value_or(-1) > row->key(b).value_or(-1);
  });
}

// What GPUs draw is less than what their machine does.
std::string LeastWatts(const Load& load) {
  return absl::StrCat(load.watts.has_value() && !load.is_all_power ? "> " : "", Watts(load.watts));
}

std::string Summary(const Load& all) {
  std::string text = absl::StrCat(all.nodes == all.all_nodes ? "" : absl::StrCat(all.nodes, " of "),
                                  Counted(all.all_nodes, "node"), ", ", Counted(all.gpus, "GPU"));
  if (all.gpu.has_value()) absl::StrAppend(&text, " ", Percent(all.gpu), " busy");
  if (all.cpu.has_value()) absl::StrAppend(&text, ", processors ", Percent(all.cpu));
  if (all.watts.has_value()) absl::StrAppend(&text, ", ", LeastWatts(all));
  if (all.received.has_value())
    absl::StrAppend(&text, ", in ", Rate(all.received), ", out ", Rate(all.sent));
  return text + "\n";
}

// A row with the network's cells before its note, if they are shown.
std::vector<std::string> Row(std::vector<std::string> cells, bool has_network, std::string in,
                             std::string out, std::string note) {
  if (has_network) cells.insert(cells.end(), {std::move(in), std::move(out)});
  cells.push_back(std::move(note));
  return cells;
}

std::string RenderNodes(const std::vector<Load>& loads, bool has_network) {
  Table table(Row({"NODE", "CPU", "MEMORY", "GPU", "EACH", "HOTTEST", "GPUS DRAW", "MACHINE"},
                  has_network, "IN", "OUT", "NOTE"));
  for (const Load& load : loads) {
    table.AddRow(Row({load.name, Percent(load.cpu), Percent(load.memory), Percent(load.gpu),
                      load.bars.empty() ? kAbsent : load.bars, Degrees(load.hottest_celsius),
                      Watts(load.gpu_watts), Watts(load.node_watts)},
                     has_network, Rate(load.received), Rate(load.sent), load.note));
  }
  return table.ToString();
}

std::string RenderRacks(const std::vector<Load>& loads, bool has_network) {
  Table table(Row({"RACK", "NODES", "CPU", "MEMORY", "GPU", "HOTTEST", "POWER", "LIMIT", "USED"},
                  has_network, "IN", "OUT", "NOTE"));
  for (const Load& load : loads) {
    std::optional<double> used;
    if (load.limit_watts.has_value() && load.watts.has_value())
      used = *load.watts / *load.limit_watts;
    table.AddRow(Row(
        {load.name,
         load.nodes == load.all_nodes ? absl::StrCat(load.nodes)
                                      : absl::StrCat(load.nodes, " of ", load.all_nodes),
         Percent(load.cpu), Percent(load.memory), Percent(load.gpu), Degrees(load.hottest_celsius),
         LeastWatts(load), Watts(load.limit_watts), Percent(used)},
        has_network, Rate(load.received), Rate(load.sent), load.note));
  }
  return table.ToString();
}

bool Fits(absl::string_view text, size_t columns) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  return std::all_of(lines.begin(), lines.end(),
                     [&](absl::string_view line) { return DisplayWidth(line) <= columns; });
}

std::string RenderGpus(const v1::NodeReadings& readings) {
  if (readings.gpus().empty()) return "";
  Table table({"GPU", "BUSY", "MEMORY", "TEMPERATURE", "POWER", "OF", "CLOCK"});
  for (const v1::GpuReading& gpu : readings.gpus()) {
    if (gpu.is_lost()) {
      table.AddRow({absl::StrCat(gpu.index()), "lost"});
      continue;
    }
    const auto known = [](bool is_known, double value) {
      return is_known ? std::optional<double>(value) : std::nullopt;
    };
    table.AddRow(
        {absl::StrCat(gpu.index()), Percent(known(gpu.has_busy_ratio(), gpu.busy_ratio())),
         gpu.has_memory_total_bytes() ? absl::StrCat(Gib(gpu.memory_used_bytes()), " of ",
                                                     Gib(gpu.memory_total_bytes()), " GiB")
                                      : kAbsent,
         Degrees(known(gpu.has_temperature_celsius(), gpu.temperature_celsius())),
         Watts(known(gpu.has_power_watts(), gpu.power_watts())),
         Watts(known(gpu.has_power_limit_watts(), gpu.power_limit_watts())),
         gpu.has_sm_clock_mhz() ? absl::StrFormat("%.0f MHz", gpu.sm_clock_mhz()) : kAbsent});
  }
  return absl::StrCat("\n", table.ToString());
}

std::string RenderLinks(const v1::NodeReadings& readings) {
  if (readings.links().empty()) return "";
  Table table({"LINK", "IN", "OUT", "CARRIES"});
  for (const v1::LinkReading& link : readings.links()) {
    table.AddRow({CleanLine(link.name()), HumanRate(link.received_bytes_per_s()),
                  HumanRate(link.sent_bytes_per_s()),
                  link.bytes_per_s() > 0 ? HumanRate(link.bytes_per_s()) : kAbsent});
  }
  return absl::StrCat("\n", table.ToString());
}

}  // namespace

std::optional<TopOrder> ParseTopOrder(absl::string_view name) {
  for (const OrderRow& row : kOrders) {
    if (row.name == name) return row.order;
  }
  return std::nullopt;
}

std::string HumanRate(double bytes_per_s) {
  constexpr const char* kUnits[] = {" B/s", " kB/s", " MB/s", " GB/s", " TB/s"};
  size_t unit = 0;
  while (bytes_per_s >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes_per_s /= 1000;
    ++unit;
  }
  if (!(bytes_per_s >= 0.5) && unit == 0) return "0";
  // Three digits: a link of 100 Gbit/s carries 12.5 GB/s.
  const int decimals = unit == 0 || bytes_per_s >= 99.95 ? 0 : bytes_per_s >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f%s", decimals, bytes_per_s, kUnits[unit]);
}

std::string RenderTop(const v1::GetReadingsResponse& answer, const TopOptions& options) {
  std::string text = Summary(LoadOfAll(answer));
  std::vector<Load> loads;
  if (options.by_rack) {
    loads = LoadsOfRacks(answer);
  } else {
    for (const v1::WatchedNode& node : answer.nodes()) loads.push_back(LoadOf(node));
  }
  Sort(loads, options.order);
  const auto table = options.by_rack ? RenderRacks : RenderNodes;
  std::string rows = table(loads, /*has_network=*/true);
  const bool may_leave_out = options.order != TopOrder::kNetwork;
  if (options.columns.has_value() && may_leave_out && !Fits(rows, *options.columns))
    rows = table(loads, /*has_network=*/false);
  absl::StrAppend(&text, "\n", rows);
  if (answer.nodes_size() == 1 && !options.by_rack) {
    const v1::NodeReadings& readings = answer.nodes(0).readings();
    absl::StrAppend(&text, RenderGpus(readings), RenderLinks(readings));
  }
  return text;
}

}  // namespace muster::cli
