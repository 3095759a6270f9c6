#include "common/sys/tree_move.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

absl::Status Rename(const std::string& from, const std::string& to, unsigned flags) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) != 0)
    return FileError(errno, "moving the new tree to", to);
  const UniqueFd parent(
      ::open(to.substr(0, to.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid() || ::fsync(parent.get()) != 0)
    return FileError(errno, "syncing the folder of", to);
  return absl::OkStatus();
}

UniqueFd OpenDirectory(int parent, const char* name) {
  return UniqueFd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

absl::StatusOr<std::vector<std::string>> Names(int directory, const std::string& path) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return FileError(errno, "reading", path);
  const std::unique_ptr<DIR, CloseDirectory> open(::fdopendir(copy));
  if (open == nullptr) return FileError(errno, "reading", path);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

// Descriptors instead of paths, so that nobody can swap a directory for a link on the way down.
absl::Status Merge(int from, int to, const std::string& path, bool act) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(from, path));
  for (const std::string& name : names) {
    const std::string child = absl::StrCat(path, "/", name);
    struct stat ours = {}, theirs = {};
    if (::fstatat(from, name.c_str(), &ours, AT_SYMLINK_NOFOLLOW) != 0)
      return FileError(errno, "reading the new", child);
    const bool there = ::fstatat(to, name.c_str(), &theirs, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISDIR(ours.st_mode) != S_ISDIR(theirs.st_mode))
      return absl::FailedPreconditionError(
          absl::StrCat(child,
                       S_ISDIR(theirs.st_mode) ? " is a directory on the node and none"
                                               : " is no directory on the node and one",
                       " in the archive; remove it in an earlier task, or unpack elsewhere"));
    if (there && S_ISDIR(ours.st_mode)) {
      const UniqueFd source = OpenDirectory(from, name.c_str());
      const UniqueFd target = OpenDirectory(to, name.c_str());
      if (!source.valid() || !target.valid()) return FileError(errno, "opening", child);
      RETURN_IF_ERROR(Merge(source.get(), target.get(), child, act));
    } else if (act && ::renameat(from, name.c_str(), to, name.c_str()) != 0) {
      return FileError(errno, "moving the new file to", child);
    }
  }
  if (act && ::fsync(to) != 0 && errno != EINVAL) return FileError(errno, "syncing", path);
  return absl::OkStatus();
}

}  // namespace

absl::Status SyncFileSystem(const std::string& directory) {
  const UniqueFd fd = OpenDirectory(AT_FDCWD, directory.c_str());
  if (!fd.valid() || ::syncfs(fd.get()) != 0) return FileError(errno, "syncing", directory);
  return absl::OkStatus();
}

absl::Status MoveTree(const std::string& from, const std::string& to) {
  return Rename(from, to, RENAME_NOREPLACE);
}

absl::Status SwapTrees(const std::string& from, const std::string& to) {
  return Rename(from, to, RENAME_EXCHANGE);
}

absl::Status MergeTree(const std::string& from, const std::string& to) {
  const UniqueFd source = OpenDirectory(AT_FDCWD, from.c_str());
  const UniqueFd target = OpenDirectory(AT_FDCWD, to.c_str());
  if (!source.valid() || !target.valid()) return FileError(errno, "opening", to);
  RETURN_IF_ERROR(Merge(source.get(), target.get(), to, /*act=*/false));
  return Merge(source.get(), target.get(), to, /*act=*/true);
}

}  // namespace muster::sys
