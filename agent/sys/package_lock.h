// Finds who holds a lock file of the package manager.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/sys/package_manager.h"
#include "common/base/clock.h"

namespace muster::agent {

struct LockHolder {
  pid_t pid = 0;        // 0: a process in another container, which cannot be named
  std::string program;  // "apt-get"; empty when unknown

  // "apt-get (pid 812)".
  std::string Describe() const;
};

// The first holder among the locks of dpkg, of the repositories' lists and of the archive folder:
// apt-get fails on each of them.
std::optional<LockHolder> FindPackageLockHolder();

// nullopt when `lock_file` does not exist or nobody has locked it. Takes no lock itself.
std::optional<LockHolder> FindLockHolder(const std::string& lock_file);

// The process that a lock file of dnf names, as dnf itself decides it: by the pid in it.
std::optional<LockHolder> FindPidFileHolder(const std::string& pid_file);

// The first holder among the locks of dnf and of the rpm database in `database_folder`.
std::optional<LockHolder> FindDnfLockHolder(const std::string& database_folder);

// Blocks while `find` finds a holder, and tells `observer` who it is. Unavailable after `timeout`.
absl::Status AwaitPackageLock(const std::function<std::optional<LockHolder>()>& find,
                              absl::Duration timeout, Clock& clock,
                              const PackageObserver& observer);

}  // namespace muster::agent
