#include "common/sys/file_error.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::sys {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::Status FileError(int error, absl::string_view what, const std::string& path) {
  if (error == ENOSPC || error == EDQUOT)
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " ", path, ": no space left on its file system; free some there (df ",
                     FolderOf(path), ") and run again; nothing was changed"));
  if (error == EROFS)
    return absl::FailedPreconditionError(
        absl::StrCat(what, " ", path,
                     ": its file system is read-only; remount it read-write "
                     "(dmesg shows whether disk errors caused this) and run again"));
  if (error == EMLINK)  // Folder::OpenFile()
    return absl::PermissionDeniedError(absl::StrCat(
        what, " ", path,
        ": the file has other hard links, and users may create links here; root leaves it alone"));
  return ErrnoStatus(error, absl::StrCat(what, " ", path));
}

}  // namespace muster::sys
