// No text may crash the readers of a repository's indexes, nor lead a path elsewhere. A list that
// was written is read back as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "controller/snapshot/package_diff.h"
#include "controller/snapshot/package_list.h"
#include "controller/snapshot/release.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(snapshot_index, data, size) {
  using namespace muster::controller::snapshot;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto release = ParseRelease(text);
  if (release.ok()) {
    for (const auto& [path, file] : release->files) {
      if (absl::StartsWith(path, "/") || absl::StartsWith(path, "../") ||
          absl::StrContains(path, "/../"))
        std::abort();
    }
    (void)ChooseIndexes(*release, {"main", text.substr(0, 8)}, {"amd64"});
  } else if (release.status().message().empty()) {
    std::abort();
  }
  (void)PackageList::Read(text);
  const auto packages = ParsePackages(text);
  if (!packages.ok()) {
    if (packages.status().message().empty()) std::abort();
    return 0;
  }
  for (const Package& package : *packages) {
    if (absl::StartsWith(package.path, "/") || absl::StartsWith(package.path, "../") ||
        absl::StrContains(package.path, "/../"))
      std::abort();
    if (CompareDebianVersions(package.version, package.version) != 0) std::abort();
    const int order = CompareDebianVersions(package.version, packages->front().version);
    const int back = CompareDebianVersions(packages->front().version, package.version);
    if ((order > 0) != (back < 0) || (order < 0) != (back > 0)) std::abort();
  }
  const auto written = PackageList::Write(*packages);
  if (!written.ok()) return 0;
  const auto list = PackageList::Read(*written);
  if (!list.ok() || (*list)->size() > packages->size()) std::abort();
  for (const Package& package : *packages) {
    const auto found = (*list)->Find(package.path);
    if (!found.has_value() || found->sha256 != package.sha256) std::abort();
  }
  if (!DiffPackages({*list}, {*list}).empty()) std::abort();
  return 0;
}
