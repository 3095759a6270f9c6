// Whether a plan still matches what the nodes need. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::v1 {
class PlanFile;
}

namespace muster::cli {

// A difference, and a host list of the nodes that have it.
struct PlanDifference {
  std::string nodes;
  std::string text;  // "munge: shared key: planned unchanged, now: mode 0400 -> 0644"
  bool operator==(const PlanDifference&) const = default;
};

// The predictions in which a fresh check of `nodes` differs from the plan, in the order of the
// plan; equal ones of several nodes appear once. Text differences do not count where the values
// around them are equal. InvalidArgument: a host list in one of the plans cannot be read.
absl::StatusOr<std::vector<PlanDifference>> ComparePlans(const v1::PlanFile& planned,
                                                         const v1::PlanFile& now,
                                                         const std::set<std::string>& nodes);

// One line for each difference, at most `limit`, then the number of the others.
std::string RenderDifferences(const std::vector<PlanDifference>& differences, size_t limit);

}  // namespace muster::cli
