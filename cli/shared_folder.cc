#include "cli/shared_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text/mount_field.h"
#include "common/sys/file_system.h"

namespace muster::cli {

std::string TypeOfMount(uint64_t number, absl::string_view mountinfo) {
  // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    uint64_t mount = 0;
    if (!absl::SimpleAtoi(fields[0], &mount) || mount != number) continue;
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    return fields.end() - dash < 2 ? "" : std::string(dash[1]);
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
