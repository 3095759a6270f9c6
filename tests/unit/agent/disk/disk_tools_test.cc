#include "agent/disk/disk_tools.h"

#include <string>

#include <gmock/gmock.h>

#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent::disk {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(DiskToolsTest, NamesGoByArgumentsAndTheScriptByInput) {
  FakeProcessRunner processes;
  for (const char* program : {"sfdisk", "udevadm", "mkfs", "mount", "umount"})
    processes.On(program, FakeProcessRunner::Prints(""));
  DiskPrograms tools(processes);
  ASSERT_OK(tools.Divide("/dev/vda", "label: gpt\n"));
  ASSERT_OK(tools.SetTableId("/dev/vda", "5f0c1a52-1b2c-4d3e-8f00-0123456789ab"));
  ASSERT_OK(tools.Format("/dev/vda1", "vfat", "muster-esp"));
  ASSERT_OK(tools.Format("/dev/vda4", "ext4", "muster-state"));
  ASSERT_OK(tools.Format("/dev/vda5", "xfs", "scratch"));
  ASSERT_OK(tools.Mount("/dev/vda1", "/run/x", "vfat", "quiet"));
  ASSERT_OK(tools.Unmount("/run/x"));
  EXPECT_THAT(
      processes.commands(),
      ElementsAre("sfdisk --wipe always --wipe-partitions always /dev/vda", "udevadm settle",
                  "sfdisk --no-reread --force --disk-id /dev/vda "
                  "5F0C1A52-1B2C-4D3E-8F00-0123456789AB",
                  "mkfs.fat -F 32 -n MUSTER-ESP /dev/vda1",
                  "mkfs.ext4 -q -F -L muster-state /dev/vda4",
                  "mkfs.xfs -q -f -L scratch /dev/vda5",
                  "mount --types vfat --options quiet /dev/vda1 /run/x",
                  "mountpoint --quiet /run/x", "umount /run/x"));
  EXPECT_EQ(processes.specs()[0].input, "label: gpt\n");
}

TEST(DiskToolsTest, WhereNothingIsMountedNothingIsUnmounted) {
  FakeProcessRunner processes;
  processes.On("mountpoint", FakeProcessRunner::Prints("", 32));
  DiskPrograms tools(processes);
  ASSERT_OK(tools.Unmount("/run/x"));
  EXPECT_THAT(processes.commands(), SizeIs(1));
}

TEST(DiskToolsTest, AFileSystemThatIsMendedIsNoFailure) {
  for (const int status : {0, 1, 2, 3, 4, 8, 12}) {
    FakeProcessRunner processes;
    processes.On("e2fsck", FakeProcessRunner::Prints("muster-state: a fault", status));
    const absl::Status mended = DiskPrograms(processes).Mend("/dev/vda4");
    EXPECT_EQ(mended.code(), status < 4 ? absl::StatusCode::kOk : absl::StatusCode::kInternal);
    EXPECT_THAT(processes.commands(), ElementsAre("e2fsck -p /dev/vda4"));
  }
  FakeProcessRunner killed;
  killed.On("e2fsck", sys::ProcessResult{.signal = 9});
  EXPECT_THAT(DiskPrograms(killed).Mend("/dev/vda4"), StatusIs(absl::StatusCode::kInternal, _));
}

TEST(DiskToolsTest, AProgramThatFailsOrIsMissingIsSaid) {
  FakeProcessRunner processes;
  processes.On("sfdisk", FakeProcessRunner::Prints("sfdisk: cannot open /dev/vda: busy", 1));
  DiskPrograms tools(processes);
  EXPECT_THAT(tools.Divide("/dev/vda", ""), StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_THAT(tools.ReadTable("/dev/vda"), StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_THAT(tools.List(), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(tools.Format("/dev/vda1", "ntfs", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
}

}  // namespace
}  // namespace muster::agent::disk
