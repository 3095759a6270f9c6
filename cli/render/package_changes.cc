#include "cli/render/package_changes.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/plain_text.h"
#include "common/base/text/counted.h"

namespace muster::cli {

std::string RenderPackageChanges(const std::vector<PackageChangeRow>& changes) {
  if (changes.empty()) return "no package differs\n";
  using Versions = std::pair<std::string, std::string>;
  std::map<Versions, std::set<std::string>> names;
  std::vector<Versions> order;  // by the first package
  std::set<std::string> added, removed, changed;
  for (const PackageChangeRow& change : changes) {
    const Versions versions(change.before, change.after);
    if (names.count(versions) == 0) order.push_back(versions);
    names[versions].insert(Tame(change.name));
    (change.before.empty() ? added : change.after.empty() ? removed : changed).insert(change.name);
  }
  std::string text;
  for (const Versions& versions : order) {
    const std::string before = Tame(versions.first);
    const std::string after = Tame(versions.second);
    absl::StrAppend(&text,
                    before.empty()  ? absl::StrCat("+ ", after)
                    : after.empty() ? absl::StrCat("- ", before)
                                    : absl::StrCat("~ ", before, " -> ", after),
                    ": ", absl::StrJoin(names[versions], ", "), "\n");
  }
  return absl::StrCat(text, "\n", Counted(changed.size(), "package"), " with another version, ",
                      added.size(), " new, ", removed.size(), " gone\n");
}

}  // namespace muster::cli
