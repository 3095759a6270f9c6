#include "common/base/text/nearest_word.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

// Levenshtein distance in which exchanging two neighbors counts as one edit.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string NearestWord(absl::string_view word, const std::vector<std::string>& candidates,
                        size_t most_edits) {
  constexpr size_t kLongest = 64;  // longest word worth comparing: bounds the work on hostile input
  if (word.size() > kLongest) return "";
  std::string best;
  size_t best_distance = std::min(std::max<size_t>(1, word.size() / 3), most_edits) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const size_t longer = std::max(word.size(), candidate.size());
    const size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter >= best_distance) continue;  // each letter more is an edit
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string DidYouMean(absl::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = NearestWord(word, candidates);
  return nearest.empty() ? "" : absl::StrCat(" (did you mean '", nearest, "'?)");
}

}  // namespace muster
