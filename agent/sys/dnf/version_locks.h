// The list of dnf's versionlock plugin. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/sys/dnf/rpm_database.h"

namespace muster::agent {

// Whether the plugin, by its configuration file, is in use.
bool VersionLockIsEnabled(absl::string_view configuration);
// The path of its list, by the same file; "" if it names none.
std::string VersionLockPath(absl::string_view configuration);

// One file of patterns, each of which keeps dnf from every other version of the packages that it
// names. Lines of others stay as they are.
class VersionLocks {
 public:
  explicit VersionLocks(absl::string_view text);

  // Whether a pattern keeps `package` in its installed version.
  bool Holds(const RpmPackage& package) const;
  // Replaces all patterns that hold `package` by its present version.
  void Hold(const RpmPackage& package);
  // Removes the patterns that hold `package`. A pattern of others that covers more packages, such
  // as "*nvidia*580*", goes as a whole.
  void Release(const RpmPackage& package);
  // The same for `package` alone: others of `installed` that the patterns hold stay held, each in
  // its version.
  void ReleaseOnly(const RpmPackage& package, const std::vector<RpmPackage>& installed);

  std::string Text() const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace muster::agent
