#include "cli/inventory_edit/narrow_hostlist.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "cli/inventory_edit/widen_hostlist.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {

absl::StatusOr<std::string> NarrowHostlist(absl::string_view list, const std::set<size_t>& places) {
  std::vector<std::string> items;
  size_t place = 0;
  for (const absl::string_view item : SplitItems(list)) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     ExpandHostlist(absl::StripAsciiWhitespace(item)));
    std::vector<std::string> left;
    for (const std::string& name : names)
      if (places.count(place++) == 0) left.push_back(name);
    if (left.size() == names.size()) {
      items.emplace_back(item);
    } else if (!left.empty()) {
      ASSIGN_OR_RETURN(items.emplace_back(), WriteHostlist(left));
    }
  }
  return absl::StrJoin(items, ",");
}

}  // namespace muster::cli
