// Host lists are typed by people and written into files. Folding an expanded list gives the same
// names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "common/base/text/hostlist.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(hostlist, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto names = muster::ExpandHostlist(text);
  if (!names.ok()) {
    if (names.status().message().empty()) std::abort();
    return 0;
  }
  if (names->size() > muster::kMaxHostlistNames) std::abort();
  const std::set<std::string> wanted(names->begin(), names->end());
  if (wanted.size() != names->size()) std::abort();
  const std::string folded = muster::FoldHostlist(*names);
  const auto again = muster::ExpandHostlist(folded);
  if (!again.ok() || std::set<std::string>(again->begin(), again->end()) != wanted) std::abort();
  if (muster::FoldHostlist(*again) != folded) std::abort();
  // Slurm accepts a bracket only at the end of a name.
  for (size_t at = folded.find(']'); at != std::string::npos; at = folded.find(']', at + 1))
    if (at + 1 != folded.size() && folded[at + 1] != ',') std::abort();
  return 0;
}
