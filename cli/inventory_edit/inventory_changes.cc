#include "cli/inventory_edit/inventory_changes.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {

bool ReadNames(absl::string_view text, std::set<std::string>* names) {
  if (text.empty() || text == "(none)") return true;
  const absl::StatusOr<std::vector<std::string>> expanded = ExpandHostlist(text);
  if (expanded.ok()) names->insert(expanded->begin(), expanded->end());
  return expanded.ok();
}

bool ReadNodesLine(absl::string_view line, char sign, std::set<std::string>* names) {
  const std::string begin(1, sign);
  if (!absl::ConsumePrefix(&line, absl::StrCat(begin, " nodes ")) &&
      !absl::ConsumePrefix(&line, absl::StrCat(begin, " node ")))
    return false;
  return ReadNames(line.substr(0, line.find(':')), names);
}

std::optional<MembershipChange> ReadMembership(absl::string_view line) {
  for (const ListKind& kind : kListKinds) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, absl::StrCat("~ ", kind.word, " "))) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits(": nodes ", 1));
    const std::vector<absl::string_view> sides = absl::StrSplit(parts.second, " -> ");
    MembershipChange change;
    if (sides.size() != 2 || !ReadNames(sides[0], &change.before) ||
        !ReadNames(sides[1], &change.after))
      return std::nullopt;
    change.list = absl::StrCat(kind.word, " ", parts.first);
    return change;
  }
  return std::nullopt;
}

}  // namespace muster::cli
