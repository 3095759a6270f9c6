// Slurm's hostlist syntax: "c[001-016,020],login1", several brackets allowed ("r[1-2]n[01-08]").
//
// Reading accepts more than Slurm does: text may follow a bracket ("c[1-2]-ib", "r[1-2]n3"). Slurm
// reads everything that is written here, and gets the same names.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// More names than this in one expression, or in one bracket of it, are an error, so that none can
// exhaust the memory; duplicates count. So is a name of more than 255 characters.
inline constexpr size_t kMaxHostlistNames = 65536;

// The names in the order written, duplicates kept out (Slurm keeps them). InvalidArgument names the
// column (1-based) and what is wrong there: "column 3: range 016-001 runs backwards".
absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view expression);

// The shortest usual form: sorted, ranges folded, zero padding kept: {"c001","c002","x"} →
// "c[001-002],x". Folds the number at the end of a name only; other names stand as they are.
std::string FoldHostlist(std::vector<std::string> names);

}  // namespace muster
