// The lines of DiffInventoryResponse.changes that are about nodes and the lists that they are in.
// Pure.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// The kinds of lists that nodes are in: their words in changes, and their sections.
struct ListKind {
  absl::string_view word;
  const char* section;
};
inline constexpr ListKind kListKinds[] = {{"rack", "racks"},
                                          {"group", "groups"},
                                          {"partition", "partitions"},
                                          {"update policy", "updates"},
                                          {"drift policy", "drift"}};

// A list as the inventory and its changes show it: "c[001-003]", "(none)" or empty. Adds to
// `names`; false: it is no such list.
bool ReadNames(absl::string_view text, std::set<std::string>* names);

// "+ nodes c[017-018]: compute", or with '-': adds the names to `names`.
bool ReadNodesLine(absl::string_view line, char sign, std::set<std::string>* names);

// "~ group gpu: nodes c[001-016] -> c[001-018]".
struct MembershipChange {
  std::string list;  // "group gpu"
  std::set<std::string> before, after;
};
// nullopt: the line says something else, or more.
std::optional<MembershipChange> ReadMembership(absl::string_view line);

}  // namespace muster::cli
