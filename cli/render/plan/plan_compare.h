// Whether a plan still says what the nodes need. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::v1 {
class PlanFile;
}

namespace muster::cli {

// A difference, and the nodes that have it as a host list.
struct PlanDifference {
  std::string nodes;
  std::string text;  // "munge: shared key: planned unchanged, now: mode 0400 -> 0644"
  bool operator==(const PlanDifference&) const = default;
};

// What a fresh check of `nodes` predicts otherwise than the plan does, in the order of the plan;
// the same on several nodes once. Text differences do not count where the values around them are
// equal. InvalidArgument: a host list in one of them cannot be read.
absl::StatusOr<std::vector<PlanDifference>> ComparePlans(const v1::PlanFile& planned,
                                                         const v1::PlanFile& now,
                                                         const std::set<std::string>& nodes);

// A line each, at most `limit`, then how many there are besides.
std::string RenderDifferences(const std::vector<PlanDifference>& differences, size_t limit);

}  // namespace muster::cli
