#include "common/base/text/mount_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(MountInfo, HasTheFieldsOfItsLine) {
  const std::vector<MountInfo> mounts = MountsOf(
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
      "31 22 0:50 /a /my\\040home rw shared:2 master:3 - nfs4 srv:/my\\040home rw,hard\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].path, "/");
  EXPECT_EQ(mounts[0].options, "rw,relatime");
  EXPECT_EQ(mounts[1].number, 31u);
  EXPECT_EQ(mounts[1].device, "0:50");
  EXPECT_EQ(mounts[1].folder, "/a");
  EXPECT_EQ(mounts[1].path, "/my home");
  EXPECT_EQ(mounts[1].type, "nfs4");
  EXPECT_EQ(mounts[1].source, "srv:/my home");
  EXPECT_EQ(mounts[1].file_system_options, "rw,hard");
}

TEST(MountInfo, LinesThatAreNoMountsAreLeftOut) {
  for (const char* line : {"", "garbage", "32 22 0:1 / /x rw - ", "33 22 0:1 / /y rw - nfs4",
                           "a 22 0:1 / /z rw - nfs4 s:/ rw", "34 22 0:1 / /z rw nfs4 s:/ rw"})
    EXPECT_TRUE(MountsOf(line).empty()) << line;
}

TEST(MountInfo, FileSystemsOfServersAreRemote) {
  for (const char* type : {"nfs", "nfs4", "beegfs", "lustre", "ceph", "fuse.ceph-fuse", "gpfs"})
    EXPECT_TRUE(IsRemoteFileSystem(type)) << type;
  for (const char* type :
       {"", "ext4", "xfs", "zfs", "tmpfs", "overlay", "autofs", "fuse", "fuseblk"})
    EXPECT_FALSE(IsRemoteFileSystem(type)) << type;
}

}  // namespace
}  // namespace muster
