// What a ring over all nodes reached, beside what the pairs of its nodes promise. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/checks/catalog.h"
#include "controller/validation/verdict/blame.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// A ring whose model reaches less than this share of the slowest pair is worth a hint; no fault, as
// pairs are measured one way, and not all at once.
inline constexpr double kRingFallsShort = 0.7;

// One check of nodes in a ring. All outlive the call.
struct RingResult {
  absl::string_view stage;
  const checks::CheckSpec* spec = nullptr;
  const std::map<std::string, std::string>* parameters = nullptr;  // as the suite gives them
  const v1::CheckResult* result = nullptr;                         // any rank's: all agree on times
  const std::vector<std::string>* nodes = nullptr;                 // by rank
};

// `pairs`: rates over TCP, of checks before the ring. Of several measurements of one direction the
// fastest counts: that is what the pair can do. nullopt: `result` is of no ring, or none of its
// pairs was measured.
std::optional<v1::RingOutlook> CompareWithPairs(const RingResult& ring,
                                                absl::Span<const PairMatrix* const> pairs);

}  // namespace muster::controller::validation
