#include "cli/shared_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text/mount_info.h"
#include "common/sys/file_system.h"

namespace muster::cli {

std::string TypeOfMount(uint64_t number, absl::string_view mountinfo) {
  for (MountInfo& mount : MountsOf(mountinfo)) {
    if (mount.number == number) return std::move(mount.type);
  }
  return "";
}

std::string FileSystemTypeOf(const std::string& folder, sys::FileSystem& files) {
  struct statx info = {};
  if (::statx(AT_FDCWD, folder.c_str(), 0, STATX_MNT_ID, &info) != 0 ||
      (info.stx_mask & STATX_MNT_ID) == 0) {
    return "";
  }
  const absl::StatusOr<std::string> mountinfo = files.Read("/proc/self/mountinfo");
  return mountinfo.ok() ? TypeOfMount(info.stx_mnt_id, *mountinfo) : "";
}

std::string SharedFolderWarning(absl::string_view folder, absl::string_view type,
                                absl::string_view role) {
  if (role == "viewer" || !IsRemoteFileSystem(type)) return "";
  return absl::StrCat(
      "the key in ", folder, " is on a network file system (", type,
      "): root on any machine that mounts it can act as this ", role,
      "; move the folder to a local disk and name it in MUSTER_CONFIG_DIR, or keep ",
      "it on a machine outside the cluster");
}

}  // namespace muster::cli
