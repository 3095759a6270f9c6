// Joins two persons' edits of the same files. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::cli {

// The texts of two persons, and the one from which both were made.
struct TextMerge {
  std::string text;
  // The lines of `mine`, counted from 1, where both have changed the same lines, or neighbors, in
  // different ways. Not empty: `text` means nothing.
  std::vector<size_t> conflicts;
};

// Line by line; a change that both have made is one.
TextMerge MergeTexts(absl::string_view base, absl::string_view mine, absl::string_view theirs);

using TextsByPath = std::map<std::string, std::string>;

struct FilesMerge {
  TextsByPath files;  // those that either has removed are not in it
  // "cluster.yaml:7", and "cluster.yaml" where one has removed or added the file that the other has
  // changed or added, too. Not empty: `files` means nothing.
  std::vector<std::string> conflicts;
};
FilesMerge MergeFiles(const TextsByPath& base, const TextsByPath& mine, const TextsByPath& theirs);

}  // namespace muster::cli
