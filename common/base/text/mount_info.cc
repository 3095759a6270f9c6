#include "common/base/text/mount_info.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/text/mount_field.h"

namespace muster {
namespace {

// ceph-fuse calls itself "fuse.ceph-fuse", whatever fstab says.
constexpr absl::string_view kRemoteTypes[] = {
    "nfs",  "nfs4",           "beegfs",    "lustre",         "ceph", "cifs",  "smb3",
    "gpfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "9p",   "wekafs"};

}  // namespace

std::vector<MountInfo> MountsOf(absl::string_view mountinfo) {
  // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
  constexpr size_t kNumber = 0, kDevice = 2, kFolder = 3, kPath = 4, kOptions = 5, kTags = 6;
  std::vector<MountInfo> all;
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    MountInfo mount;
    if (fields.size() <= kTags || !absl::SimpleAtoi(fields[kNumber], &mount.number)) continue;
    const auto dash = std::find(fields.begin() + kTags, fields.end(), "-");
    if (fields.end() - dash < 4) continue;
    mount.device = std::string(fields[kDevice]);
    mount.folder = UnescapeMountField(fields[kFolder]);
    mount.path = UnescapeMountField(fields[kPath]);
    mount.options = std::string(fields[kOptions]);
    mount.type = std::string(dash[1]);
    mount.source = UnescapeMountField(dash[2]);
    mount.file_system_options = std::string(dash[3]);
    all.push_back(std::move(mount));
  }
  return all;
}

bool IsRemoteFileSystem(absl::string_view type) {
  return std::find(std::begin(kRemoteTypes), std::end(kRemoteTypes), type) !=
         std::end(kRemoteTypes);
}

}  // namespace muster
