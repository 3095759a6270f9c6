#include "common/sys/large_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"
#include "common/sys/place.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

constexpr size_t kBlock = size_t{1} << 20;

}  // namespace

absl::StatusOr<std::string> Sha256OfFile(const std::string& path, bool sync,
                                         const std::function<bool()>& cancelled) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY, LastLink::kRefuse, "reading"));
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return FileError(errno, "reading", path);
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat("reading ", path, ": not a regular file"));
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  Sha256 digest;
  std::string block(kBlock, '\0');
  while (true) {
    if (cancelled && cancelled())
      return absl::CancelledError(absl::StrCat("reading ", path, ": stopped"));
    const ssize_t count = ::read(fd.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "reading", path);
    if (count == 0) break;
    digest.Update(absl::string_view(block.data(), static_cast<size_t>(count)));
  }
  if (sync && ::fsync(fd.get()) != 0) return FileError(errno, "syncing", path);
  return digest.FinishHex();
}

}  // namespace muster::sys
