// Finds who holds a lock file of the package manager.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

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

}  // namespace muster::agent
