#include <vector>

#include "agent/burnin/check.h"
#include "agent/burnin/runners.h"

namespace muster::burnin {

absl::Span<const CheckRunner> CheckRunners() {
  static const auto* const all = [] {
    auto* list = new std::vector<CheckRunner>;
    for (const absl::Span<const CheckRunner> table : {GpuRunners(), NicRunners(), SystemRunners()})
      list->insert(list->end(), table.begin(), table.end());
    return list;
  }();
  return *all;
}

}  // namespace muster::burnin
