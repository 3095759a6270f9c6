// More names in a host list that somebody wrote, in the style that it has. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::cli {

// Where names are added. A list beside another one, as the nodes and their addresses in the
// inventory, has to keep its order.
enum class Widening { kAtTheEnd, kBesideLike };

// `list` with `names` added: "c[001-016]" and c017 make "c[001-017]", "c001" and c003
// "c[001,003]", "c001,x" and c002 beside c001 "c[001-002],x". `like` is a name of the list;
// kAtTheEnd does not need it. InvalidArgument: no host list has these names in this order.
absl::StatusOr<std::string> WidenHostlist(absl::string_view list,
                                          const std::vector<std::string>& names, Widening widening,
                                          absl::string_view like = "");

// The host list of `names` in their order, as short as it gets.
absl::StatusOr<std::string> WriteHostlist(const std::vector<std::string>& names);

// The items of a host list or of a pattern, which commas outside of brackets separate.
std::vector<absl::string_view> SplitItems(absl::string_view list);

}  // namespace muster::cli
