#include "cli/inventory_edit/merge_texts.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/text_diff.h"

namespace muster::cli {
namespace {

using TextLines = std::vector<absl::string_view>;

std::string Slice(const TextLines& lines, size_t begin, size_t end) {
  return absl::StrJoin(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                       lines.begin() + static_cast<std::ptrdiff_t>(end), "");
}

std::optional<std::string> TextAt(const TextsByPath& files, const std::string& path) {
  const auto found = files.find(path);
  return found == files.end() ? std::nullopt : std::optional<std::string>(found->second);
}

}  // namespace

TextMerge MergeTexts(absl::string_view base, absl::string_view mine, absl::string_view theirs) {
  const TextLines from = SplitLines(base), a = SplitLines(mine), b = SplitLines(theirs);
  const KeptLines in_a = LinesKept(base, mine), in_b = LinesKept(base, theirs);
  TextMerge merge;
  size_t at = 0, at_a = 0, at_b = 0;  // what is merged so far
  while (at < from.size() || at_a < a.size() || at_b < b.size()) {
    // The next line that both have kept ends a piece that somebody has changed.
    size_t end = at;
    while (end < from.size() && !(in_a[end].has_value() && in_b[end].has_value())) ++end;
    const size_t end_a = end < from.size() ? *in_a[end] : a.size();
    const size_t end_b = end < from.size() ? *in_b[end] : b.size();
    const std::string was = Slice(from, at, end), of_a = Slice(a, at_a, end_a),
                      of_b = Slice(b, at_b, end_b);
    if (of_a == was || of_a == of_b) {
      merge.text += of_b;
    } else if (of_b == was) {
      merge.text += of_a;
    } else {
      merge.conflicts.push_back(at_a + 1);
    }
    if (end < from.size()) merge.text += std::string(a[end_a]);
    at = end + 1;
    at_a = end_a + 1;
    at_b = end_b + 1;
    if (end == from.size()) break;
  }
  return merge;
}

FilesMerge MergeFiles(const TextsByPath& base, const TextsByPath& mine, const TextsByPath& theirs) {
  std::set<std::string> paths;
  for (const TextsByPath* files : {&base, &mine, &theirs})
    for (const auto& [path, text] : *files) paths.insert(path);
  FilesMerge merge;
  for (const std::string& path : paths) {
    const auto was = TextAt(base, path), ours = TextAt(mine, path), other = TextAt(theirs, path);
    const bool only_they = ours == was || ours == other;
    if (only_they || other == was) {
      const auto& taken = only_they ? other : ours;
      if (taken.has_value()) merge.files[path] = *taken;
    } else if (was.has_value() && ours.has_value() && other.has_value()) {
      TextMerge merged = MergeTexts(*was, *ours, *other);
      for (const size_t line : merged.conflicts)
        merge.conflicts.push_back(absl::StrCat(path, ":", line));
      merge.files[path] = std::move(merged.text);
    } else {
      merge.conflicts.push_back(path);
    }
  }
  return merge;
}

}  // namespace muster::cli
