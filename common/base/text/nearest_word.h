// "did you mean": the known word nearest to a misspelled one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster {

// The candidate with the smallest edit distance to `word`, or "" when none is near enough to be
// meant (more than a third of its letters differ, at least one may; never more than `most_edits`).
std::string NearestWord(absl::string_view word, const std::vector<std::string>& candidates,
                        size_t most_edits = SIZE_MAX);

// " (did you mean 'x'?)", or "" when nothing is near.
std::string DidYouMean(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace muster
