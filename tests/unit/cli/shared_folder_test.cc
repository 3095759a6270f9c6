#include "cli/shared_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/sys/file_system.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kMountInfo[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "31 22 0:50 / /home rw shared:2 master:3 - nfs4 srv:/home rw\n"
    "garbage\n32 22 0:1 / /x rw - \n33 22 0:1 / /y rw -\n"
    "3 22 0:51 / /a\\040-\\040b rw - beegfs beegfs_nodev rw\n";

TEST(SharedFolder, AMountHasTheTypeOfItsNumber) {
  EXPECT_EQ(TypeOfMount(22, kMountInfo), "ext4");
  EXPECT_EQ(TypeOfMount(31, kMountInfo), "nfs4");
  EXPECT_EQ(TypeOfMount(3, kMountInfo), "beegfs");
  for (const uint64_t number : {1, 32, 33, 34}) EXPECT_EQ(TypeOfMount(number, kMountInfo), "");
  sys::RealFileSystem files;
  EXPECT_EQ(FileSystemTypeOf("/proc", files), "proc");
  EXPECT_EQ(FileSystemTypeOf("/nowhere", files), "");
}

TEST(SharedFolder, AKeyThatRootOfOtherMachinesReadsIsWarnedOf) {
  EXPECT_THAT(SharedFolderWarning("/home/eve/.config/muster", "nfs4", "admin"),
              AllOf(HasSubstr("/home/eve/.config/muster is on a network file system (nfs4)"),
                    HasSubstr("this admin;"), HasSubstr("MUSTER_CONFIG_DIR")));
  EXPECT_THAT(SharedFolderWarning("/x", "beegfs", "operator"), HasSubstr("this operator;"));
  EXPECT_EQ(SharedFolderWarning("/x", "nfs4", "viewer"), "");
  for (const char* type : {"ext4", "overlay", "tmpfs", ""})
    EXPECT_EQ(SharedFolderWarning("/x", type, "admin"), "") << type;
}

}  // namespace
}  // namespace muster::cli
