// Packages that differ between two states, as text for people. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

struct PackageChangeRow {
  std::string name;
  std::string architecture;
  std::string before;  // its version; "": it was not there
  std::string after;   // likewise; "": it is not there any more
};

// A line for each pair of versions, with the packages that it applies to, and a sum; packages that
// differ on several architectures count once.
std::string RenderPackageChanges(const std::vector<PackageChangeRow>& changes);

}  // namespace muster::cli
