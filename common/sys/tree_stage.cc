#include "common/sys/tree_stage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"

namespace muster::sys {
namespace {

constexpr char kTree[] = "tree";

absl::Status Merge(const Folder& from, const Folder& to, const std::string& path, bool act) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, from.Names(path));
  for (const std::string& name : names) {
    const std::string child = absl::StrCat(path, "/", name);
    struct stat ours = {}, theirs = {};
    if (!from.Stat(name, &ours)) return FileError(errno, "reading the new", child);
    const bool there = to.Stat(name, &theirs);
    if (there && S_ISDIR(ours.st_mode) != S_ISDIR(theirs.st_mode))
      return absl::FailedPreconditionError(absl::StrCat(
          child,
          S_ISDIR(theirs.st_mode) ? " is a directory on the node but not in the archive"
                                  : " is a directory in the archive but not on the node",
          "; remove it in an earlier task, or unpack elsewhere"));
    if (there && S_ISDIR(ours.st_mode)) {
      ASSIGN_OR_RETURN(const Folder source, from.Enter(name, "opening", child));
      ASSIGN_OR_RETURN(const Folder target, to.Enter(name, "opening", child));
      RETURN_IF_ERROR(Merge(source, target, child, act));
    } else if (act && ::renameat(from.fd(), name.c_str(), to.fd(), name.c_str()) != 0) {
      return FileError(errno, "moving the new file to", child);
    }
  }
  return act ? to.Sync(path) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TreeStage>> TreeStage::Make(const std::string& path,
                                                           const std::string& name) {
  ASSIGN_OR_RETURN(Place place, Place::Reach(path, "unpacking into"));
  struct stat there = {};
  // If something is mounted at the place, its neighbors are on another disk.
  const bool beside =
      !place.folder.Stat(place.name, &there) || there.st_dev == place.folder.device();
  // A second descriptor of the same folder, or one of the place itself.
  ASSIGN_OR_RETURN(Folder base,
                   place.folder.Enter(beside ? "." : place.name, "unpacking into", path));
  const std::string folder = beside ? path.substr(0, path.rfind('/')) : path;
  const std::string own = absl::StrCat(folder, "/", name);
  RETURN_IF_ERROR(base.RemoveTree(name, own));
  ASSIGN_OR_RETURN(Folder stage, base.MakeFolder(name, 0700, /*ours=*/true, own));
  ASSIGN_OR_RETURN(Folder tree, stage.MakeFolder(kTree, 0755, /*ours=*/true, own));
  return std::unique_ptr<TreeStage>(new TreeStage(path, std::move(place), std::move(base), name,
                                                  std::move(stage), std::move(tree), beside));
}

TreeStage::~TreeStage() {
  // Removes its contents by the descriptor: the name may belong to another directory by now.
  stage_.RemoveTree(kTree, path_).IgnoreError();
  ::unlinkat(base_.fd(), name_.c_str(), AT_REMOVEDIR);
}

absl::Status TreeStage::Sync() const {
  ASSIGN_OR_RETURN(const UniqueFd fd, tree_.Reopen("syncing", path_));
  if (::syncfs(fd.get()) != 0) return FileError(errno, "syncing", path_);
  return absl::OkStatus();
}

absl::Status TreeStage::Rename(unsigned flags) {
  if (::renameat2(stage_.fd(), kTree, place_.folder.fd(), place_.name.c_str(), flags) != 0)
    return FileError(errno, "moving the new tree to", path_);
  return place_.folder.Sync(path_);
}

absl::Status TreeStage::MoveIn(uid_t uid, gid_t gid) {
  ASSIGN_OR_RETURN(const UniqueFd fd, tree_.Reopen("opening", path_));
  RETURN_IF_ERROR(stage_.SetAttributes(fd.get(), uid, gid, nullptr, path_));
  return Rename(RENAME_NOREPLACE);
}

absl::Status TreeStage::SwapIn() {
  if (!beside_) return FileError(EXDEV, "moving the new tree to", path_);
  struct stat old = {};
  if (!place_.folder.Stat(place_.name, &old)) return FileError(errno, "reading", path_);
  const mode_t mode = old.st_mode & 07777;
  ASSIGN_OR_RETURN(const UniqueFd fd, tree_.Reopen("opening", path_));
  RETURN_IF_ERROR(stage_.SetAttributes(fd.get(), old.st_uid, old.st_gid, &mode, path_));
  return Rename(RENAME_EXCHANGE);
}

absl::Status TreeStage::MergeIn() {
  ASSIGN_OR_RETURN(const Folder target, place_.folder.Enter(place_.name, "opening", path_));
  RETURN_IF_ERROR(Merge(tree_, target, path_, /*act=*/false));
  return Merge(tree_, target, path_, /*act=*/true);
}

}  // namespace muster::sys
