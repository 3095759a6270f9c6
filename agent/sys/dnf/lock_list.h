// The file by which dnf keeps held packages in their versions, over a transaction.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/sys/dnf/installed_rpms.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

struct PackageTransaction;

// The list of dnf's versionlock plugin. Not thread-safe, except IsInstalled() and
// Read().
class LockList {
 public:
  // The package that has the plugin.
  static constexpr char kPackage[] = "python3-dnf-plugin-versionlock";

  // No path: the plugin is not installed, or switched off.
  struct Content {
    std::string path, text;
  };

  // The references must outlive the object.
  LockList(sys::FileSystem& files, InstalledRpms& installed)
      : files_(files), installed_(installed) {}

  bool IsInstalled() const;
  absl::StatusOr<Content> Read() const;
  // Changes the locks so that dnf sees the versions that the transaction names.
  absl::Status Move(const Content& locks, const PackageTransaction& transaction);
  // The list as it was before a transaction that failed. What it held and the transaction has
  // replaced all the same is locked in its present version: dnf would not see it otherwise, and
  // could not install it again.
  absl::Status Restore(const Content& locks, const RpmDatabase& before);
  // Locks what is held afterwards, in the versions that are installed now.
  absl::Status Settle(const std::vector<std::string>& held, const PackageTransaction& transaction);

 private:
  sys::FileSystem& files_;
  InstalledRpms& installed_;
};

}  // namespace muster::agent
