// The standard input of muster-burnin, one JSON object per line.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Longer lines are refused: 1 MiB is room for the endpoints of checks::kMaxRanks nodes with long
// names.
inline constexpr size_t kMaxInputLine = 1 << 20;

// Exactly one of the two is set.
struct InputLine {
  std::vector<Endpoint> peers;  // {"peers":[{"address":"10.0.0.1","port":4711},…]}, by rank
  std::string stop;             // {"stop":"reason"}; an empty reason becomes "no reason was given"
};

// InvalidArgument says what is wrong; unknown fields are ignored.
absl::StatusOr<InputLine> ParseInputLine(absl::string_view line);

}  // namespace muster::burnin
