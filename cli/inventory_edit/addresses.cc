#include "cli/inventory_edit/addresses.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {

absl::StatusOr<std::map<std::string, std::string>> ReadAddresses(
    const std::vector<std::string>& names, const std::string& text) {
  std::map<std::string, std::string> addresses;
  if (text.empty()) return addresses;
  if (absl::StrContains(text, '=')) {
    for (const absl::string_view part : absl::StrSplit(text, ',')) {
      const std::pair<std::string, std::string> pair =
          absl::StrSplit(part, absl::MaxSplits('=', 1));
      if (pair.second.empty())
        return absl::InvalidArgumentError(
            absl::StrCat("'", part, "': expected NODE=ADDRESS, such as c017=10.0.0.17"));
      if (std::find(names.begin(), names.end(), pair.first) == names.end())
        return absl::InvalidArgumentError(
            absl::StrCat("'", part, "': ", pair.first, " is not among the nodes to add"));
      if (!addresses.insert(pair).second)
        return absl::InvalidArgumentError(absl::StrCat("two addresses for ", pair.first));
    }
    return addresses;
  }
  std::vector<std::string> list = {text};
  if (!absl::StrContains(text, ':')) {  // IPv6 has colons, a host list cannot
    absl::StatusOr<std::vector<std::string>> expanded = ExpandHostlist(text);
    if (!expanded.ok()) return Annotate(expanded.status(), absl::StrCat("'", text, "'"));
    list = *std::move(expanded);
  }
  if (list.size() != names.size())
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "': ", list.size(), " addresses for ", names.size(),
                     " nodes; write a range of the same length, such as 10.0.0.[17-18], or "
                     "c017=10.0.0.17,c018=10.0.0.18"));
  for (size_t i = 0; i < names.size(); ++i) addresses[names[i]] = list[i];
  return addresses;
}

}  // namespace muster::cli
