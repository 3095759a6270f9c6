// Differences between two texts, as people read them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster {

// Texts above this size are not compared.
inline constexpr size_t kMaxDiffInput = size_t{1} << 20;
// A longer diff is cut and says so.
inline constexpr size_t kMaxDiffOutput = size_t{64} << 10;

// A unified diff with three lines of context, "--- <name> (before)" first; "" when the texts are
// equal, one is above kMaxDiffInput or holds a NUL byte. Where the texts differ in more than
// about a thousand lines it is correct but no longer the shortest.
std::string UnifiedDiff(absl::string_view before, absl::string_view after, absl::string_view name);

// The lines of a text, each with its newline, if it has one.
std::vector<absl::string_view> SplitLines(absl::string_view text);

// For each line of `before`, its number in `after`, from 0; nullopt: it was removed. Both rise
// together. Where the texts differ in more than about a thousand lines, fewer lines than possible
// are kept.
using KeptLines = std::vector<std::optional<size_t>>;
KeptLines LinesKept(absl::string_view before, absl::string_view after);

}  // namespace muster
