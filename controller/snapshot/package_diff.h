// What a node would find newer, added and gone in another set of packages. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "controller/snapshot/package_list.h"

namespace muster::controller::snapshot {

// Below 0, 0 or above 0: the order in which dpkg has the versions of a package,
// [epoch:]upstream[-revision].
int CompareDebianVersions(absl::string_view a, absl::string_view b);

struct PackageChange {
  std::string name;
  std::string architecture;
  std::string before;  // the newest version; "": it was not there
  std::string after;   // likewise; "": it is not there any more
};

// Compares the newest version of each package, since that is the one that nodes install. By name
// and architecture.
std::vector<PackageChange> DiffPackages(
    const std::vector<std::shared_ptr<const PackageList>>& before,
    const std::vector<std::shared_ptr<const PackageList>>& after);

}  // namespace muster::controller::snapshot
