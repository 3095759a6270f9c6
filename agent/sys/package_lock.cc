#include "agent/sys/package_lock.h"

#include <fcntl.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/sys/file_system.h"
#include "common/sys/unique_fd.h"

namespace muster::agent {

std::string LockHolder::Describe() const {
  if (pid == 0) return "a process outside this container";
  return program.empty() ? absl::StrCat("process ", pid)
                         : absl::StrCat(program, " (pid ", pid, ")");
}

std::optional<LockHolder> FindLockHolder(const std::string& lock_file) {
  const sys::UniqueFd fd(::open(lock_file.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  LockHolder holder = {.pid = lock.l_pid > 0 ? lock.l_pid : 0};
  sys::RealFileSystem files;
  if (const auto name = files.Read(absl::StrCat("/proc/", holder.pid, "/comm")); name.ok())
    holder.program = std::string(absl::StripAsciiWhitespace(*name));
  return holder;
}

std::optional<LockHolder> FindPackageLockHolder() {
  for (const char* path : {"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock",
                           "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock"})
    if (std::optional<LockHolder> holder = FindLockHolder(path)) return holder;
  return std::nullopt;
}

}  // namespace muster::agent
