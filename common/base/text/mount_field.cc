#include "common/base/text/mount_field.h"

#include <algorithm>
#include <iterator>

namespace muster {
namespace {

// ceph-fuse calls itself "fuse.ceph-fuse", whatever fstab says.
constexpr absl::string_view kRemoteTypes[] = {
    "nfs",  "nfs4",           "beegfs",    "lustre",         "ceph", "cifs",  "smb3",
    "gpfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "9p",   "wekafs"};

}  // namespace

std::string UnescapeMountField(absl::string_view field) {
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    const auto octal = [&field](size_t at) { return field[at] >= '0' && field[at] <= '7'; };
    if (field[i] == '\\' && i + 3 < field.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 +
                                (field[i + 3] - '0'));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

bool IsRemoteFileSystem(absl::string_view type) {
  return std::find(std::begin(kRemoteTypes), std::end(kRemoteTypes), type) !=
         std::end(kRemoteTypes);
}

}  // namespace muster
