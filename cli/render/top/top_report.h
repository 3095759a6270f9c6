// The load of nodes and racks, as text for a terminal. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::v1 {
class GetReadingsResponse;
}

namespace muster::cli {

enum class TopOrder { kName, kCpu, kMemory, kGpu, kTemperature, kPower, kNetwork };
// "gpu"; nullopt: not one of them.
std::optional<TopOrder> ParseTopOrder(absl::string_view name);

struct TopOptions {
  bool by_rack = false;
  // kName is the inventory's order; by the others, the greatest come first.
  TopOrder order = TopOrder::kName;
  // A table that is wider leaves the network out, so that its notes can be read. Absent: any width.
  std::optional<size_t> columns;
};

// A summary, then a row for each node or rack. Asked for one node: its GPUs and links, too.
std::string RenderTop(const v1::GetReadingsResponse& answer, const TopOptions& options);

// "1.25 GB/s", "0".
std::string HumanRate(double bytes_per_s);

}  // namespace muster::cli
