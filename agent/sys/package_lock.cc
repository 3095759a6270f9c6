#include "agent/sys/package_lock.h"

#include <fcntl.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/sys/package_patience.h"
#include "common/sys/file_system.h"
#include "common/sys/unique_fd.h"

namespace muster::agent {
namespace {

LockHolder Holder(pid_t pid) {
  LockHolder holder = {.pid = pid};
  sys::RealFileSystem files;
  if (const auto name = files.Read(absl::StrCat("/proc/", pid, "/comm")); name.ok())
    holder.program = std::string(absl::StripAsciiWhitespace(*name));
  return holder;
}

}  // namespace

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
  return Holder(lock.l_pid > 0 ? lock.l_pid : 0);
}

std::optional<LockHolder> FindPidFileHolder(const std::string& pid_file) {
  sys::RealFileSystem files;
  const auto text = files.Read(pid_file);
  pid_t pid = 0;
  if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &pid) || pid <= 0)
    return std::nullopt;
  // A process that has gone leaves its file behind.
  if (!files.Read(absl::StrCat("/proc/", pid, "/stat")).ok()) return std::nullopt;
  return Holder(pid);
}

std::optional<LockHolder> FindDnfLockHolder(const std::string& database_folder) {
  for (const char* path : {"/var/lib/dnf/rpmdb_lock.pid", "/var/cache/dnf/download_lock.pid",
                           "/var/cache/dnf/metadata_lock.pid"})
    if (std::optional<LockHolder> holder = FindPidFileHolder(path)) return holder;
  return FindLockHolder(absl::StrCat(database_folder, "/.rpm.lock"));
}

absl::Status AwaitPackageLock(const std::function<std::optional<LockHolder>()>& find,
                              absl::Duration timeout, Clock& clock,
                              const PackageObserver& observer) {
  const absl::Time deadline = clock.Now() + timeout;
  std::string told;
  while (const std::optional<LockHolder> holder = find()) {
    const std::string who = holder->Describe();
    if (clock.Now() >= deadline)
      return absl::UnavailableError(absl::StrCat(
          "the package lock is still held by ", who, " after ", absl::FormatDuration(timeout),
          "; check what it is doing, end it if it hangs, and run again"));
    if (who != told) Tell(observer, absl::StrCat("waiting for the package lock held by ", who));
    told = who;
    clock.Sleep(kLockPoll);
  }
  return absl::OkStatus();
}

std::optional<LockHolder> FindPackageLockHolder() {
  for (const char* path : {"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock",
                           "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock"})
    if (std::optional<LockHolder> holder = FindLockHolder(path)) return holder;
  return std::nullopt;
}

}  // namespace muster::agent
