// Fewer names in a host list that somebody wrote, in the style that it has. Pure.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::cli {

// `list` without the names at these places, which count from 0: "c[001-017]" without the last one
// is "c[001-016]", "a,c[1-3]" without the third "a,c[1,3]". Items that lose nothing stay as they
// are written; "" when nothing is left. By places, because the addresses of an entry belong to its
// nodes by their order. InvalidArgument: it is not a host list.
absl::StatusOr<std::string> NarrowHostlist(absl::string_view list, const std::set<size_t>& places);

}  // namespace muster::cli
