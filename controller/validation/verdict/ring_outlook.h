// Compares what a ring over all nodes reached with what the pairs of its nodes promise. Pure.
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

// A ring whose model reaches less than this share of the slowest pair deserves a hint; it is not a
// fault, because pairs are measured one way, and not all at once.
inline constexpr double kRingFallsShort = 0.7;

// One check of nodes in a ring. All pointees must outlive the call.
struct RingResult {
  absl::string_view stage;
  const checks::CheckSpec* spec = nullptr;
  const std::map<std::string, std::string>* parameters = nullptr;  // as given by the suite
  const v1::CheckResult* result = nullptr;                         // any rank's: all agree on times
  const std::vector<std::string>* nodes = nullptr;                 // by rank
};

// `pairs`: TCP rates from checks before the ring. If one direction was measured several times, the
// fastest counts: that is what the pair can do. nullopt: `result` does not come from a ring, or
// none of its pairs was measured.
std::optional<v1::RingOutlook> CompareWithPairs(const RingResult& ring,
                                                absl::Span<const PairMatrix* const> pairs);

}  // namespace muster::controller::validation
