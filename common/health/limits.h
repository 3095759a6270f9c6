// The limits beyond which conditions are bad, and what a site may set instead.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::health {

struct LimitInfo {
  absl::string_view name;  // of its condition, a dot, and the unit: "disk_full.percent"
  double value;            // unless the site sets another
  double min, max;         // what it may set
  absl::string_view meaning;
};

absl::Span<const LimitInfo> LimitTable();

// The value of a limit as a person writes it, "95" or "0.5". InvalidArgument: no such limit, not a
// number, or out of its bounds.
absl::StatusOr<double> ParseLimit(absl::string_view name, absl::string_view text);

// The limits in force.
class Limits {
 public:
  // Those of the table, where `given` has no valid text; `refused` gets a message for each of its
  // texts that is not.
  static Limits Parse(const std::map<std::string, std::string>& given,
                      std::vector<std::string>& refused);
  Limits() = default;

  // `name` must be in the table; anything else is a bug.
  double Of(absl::string_view name) const;

 private:
  std::map<std::string, double, std::less<>> given_;
};

}  // namespace muster::health
