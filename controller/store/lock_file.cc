#include "controller/store/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::controller {
namespace {

std::string ReadPid(int fd) {
  char text[32] = {};
  const ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
  return size > 0 ? std::string(absl::StripAsciiWhitespace(absl::string_view(text, size))) : "?";
}

}  // namespace

absl::StatusOr<std::unique_ptr<LockFile>> LockFile::Acquire(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 && errno == EROFS) {
    return absl::PermissionDeniedError(
        absl::StrCat("opening ", path, ": its file system is mounted read-only (findmnt -T ", path,
                     "); look for disk errors with dmesg and mount it to be written"));
  }
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  std::unique_ptr<LockFile> lock(new LockFile(fd));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, absl::StrCat("locking ", path));
    return absl::FailedPreconditionError(
        absl::StrCat("process ", ReadPid(fd), " holds the lock ", path,
                     ": another musterd uses this store; stop it first (systemctl stop musterd) "
                     "or set another state_directory for this one"));
  }
  // The pid is for people; a disk too full to hold it does not invalidate the lock.
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, pid.data(), pid.size(), 0);
  return lock;
}

LockFile::~LockFile() { close(fd_); }

}  // namespace muster::controller
