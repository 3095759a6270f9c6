#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kDisk[] = "/dev/disk/by-id/wwn-1";
constexpr char kStep[] =
    "file_system { device: '/dev/disk/by-id/wwn-1' type: FILE_SYSTEM_TYPE_XFS label: 'scratch' "
    "options: '-m' options: 'reflink=0' }";
constexpr char kReplacing[] =
    "file_system { device: '/dev/disk/by-id/wwn-1' type: FILE_SYSTEM_TYPE_EXT4 "
    "replaces_uuid: 'AB-1' }";

class FileSystemTest : public ResourceTest {
 protected:
  FileSystemTest() {
    node_.files.AddFile("/proc/sys/kernel/random/uuid", "new-uuid\n");
    Disk();
    node_.processes.On("mkfs.xfs", [this](const sys::ProcessSpec& spec) {
      Disk().signatures = {Signature("xfs", "new-uuid", "scratch")};
      return FakeProcessRunner::Prints("meta-data\n");
    });
    node_.processes.On("mkfs.ext4", [this](const sys::ProcessSpec& spec) {
      Disk().signatures = {Signature("ext4", "new-uuid")};
      return FakeProcessRunner::Prints("");
    });
  }
  static DeviceSignature Signature(const std::string& type, const std::string& uuid = "",
                                   const std::string& label = "",
                                   const std::string& usage = "filesystem") {
    return {.usage = usage, .type = type, .uuid = uuid, .label = label};
  }
  testing::FakeBlockDevices::Disk& Disk() { return node_.disks.disks[kDisk]; }
  // Neither check nor apply touches a disk that holds `signatures`.
  absl::Status Refused(const std::vector<DeviceSignature>& signatures, const char* step = kStep) {
    Disk().signatures = signatures;
    const auto resource = Make(step);
    const absl::Status status = resource->Check().status();
    EXPECT_EQ(resource->Apply(observer_), status);
    EXPECT_EQ(Disk().signatures, signatures);
    EXPECT_THAT(node_.processes.commands(), IsEmpty());
    return status;
  }
};

TEST_F(FileSystemTest, FormatsADeviceWithoutAnySignatureOnce) {
  ExpectConverges(kStep, {"file system"});
  EXPECT_THAT(
      node_.processes.commands(),
      ElementsAre("mkfs.xfs -L scratch -m uuid=new-uuid -m reflink=0 /dev/disk/by-id/wwn-1"));
  EXPECT_TRUE(node_.processes.specs().front().die_with_parent);
}

TEST_F(FileSystemTest, IsInSyncWithTypeAndLabel) {
  Disk().signatures = {Signature("xfs", "u", "scratch")};
  ExpectInSync(kStep);
  Disk().signatures = {Signature("ext4", "u", "any")};
  ExpectInSync(kReplacing);
}

TEST_F(FileSystemTest, NeverFormatsWhatHoldsData) {
  for (const DeviceSignature& other :
       {Signature("xfs", "u-2", "home"), Signature("ext4", "u-1"),
        Signature("LVM2_member", "u-3", "", "raid"), Signature("linux_raid_member", "", "", "raid"),
        Signature("swap", "u-4", "", "other"), Signature("crypto_LUKS", "u-5", "", "crypto"),
        Signature("gpt", "u-6", "", "partition table")}) {
    SCOPED_TRACE(other.type);
    EXPECT_THAT(Refused({other}), StatusIs(absl::StatusCode::kAlreadyExists, Said()));
  }
  EXPECT_THAT(Refused({Signature("xfs", "u", "scratch"), Signature("ext4", "u-1")}),
              StatusIs(absl::StatusCode::kAlreadyExists, Said()));
}

TEST_F(FileSystemTest, ReplacesTheNamedUuidAloneAndOnce) {
  EXPECT_THAT(Refused({Signature("xfs", "ab-2")}, kReplacing),
              StatusIs(absl::StatusCode::kAlreadyExists, Said()));
  // A partition table has a uuid, too.
  EXPECT_FALSE(Refused({Signature("gpt", "ab-1", "", "partition table")}, kReplacing).ok());
  Disk().signatures = {Signature("xfs", "ab-1")};
  ExpectConverges(kReplacing, {"file system"});
  EXPECT_THAT(node_.processes.commands(),
              ElementsAre("mkfs.ext4 -F -U new-uuid /dev/disk/by-id/wwn-1"));
}

TEST_F(FileSystemTest, LeavesADeviceInUseAlone) {
  Disk().user = "mounted on /srv";
  EXPECT_THAT(Refused({}), StatusIs(absl::StatusCode::kAlreadyExists, Said()));
}

TEST_F(FileSystemTest, TakesNoUnreadableDeviceForAnEmptyOne) {
  Disk().error = absl::DataLossError("probing failed");
  EXPECT_THAT(Make(kStep)->Check(), StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_THAT(Make(kStep)->Apply(observer_), StatusIs(absl::StatusCode::kDataLoss, _));
  node_.disks.disks.clear();
  EXPECT_THAT(Make(kStep)->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(FileSystemTest, BeginsAgainAfterACrashInTheMiddle) {
  node_.processes.On("mkfs.xfs", [this](const sys::ProcessSpec& spec) {
    Disk().signatures = {Signature("xfs", "new-uuid")};
    return FakeProcessRunner::Prints("killed", 137);
  });
  EXPECT_FALSE(Make(kStep)->Apply(observer_).ok());
  node_.files.AddFile("/proc/sys/kernel/random/uuid", "second-uuid\n");
  node_.processes.On("mkfs.xfs", [this](const sys::ProcessSpec& spec) {
    Disk().signatures = {Signature("xfs", "second-uuid", "scratch")};
    return FakeProcessRunner::Prints("");
  });
  ExpectConverges(kStep, {"file system"});
  EXPECT_TRUE(absl::StartsWith(node_.processes.commands().back(), "mkfs.xfs -f "));
  // The memory of it ends there.
  Disk().signatures = {Signature("ext4", "second-uuid")};
  EXPECT_THAT(Make(kStep)->Check(), StatusIs(absl::StatusCode::kAlreadyExists, _));
}

TEST_F(FileSystemTest, NamesThePackageOfAMissingProgram) {
  node_.processes.RemovePrograms();
  const auto resource = Make(kStep);
  EXPECT_THAT(Foreseen(*resource), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(resource->Apply(observer_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(FileSystemTest, RefusesWhatNoCompilerOfOursMakes) {
  for (const char* fields :
       {"device: '/dev/sdb' type: FILE_SYSTEM_TYPE_XFS",
        "device: '/etc/disk' type: FILE_SYSTEM_TYPE_XFS", "device: '/dev/disk/by-id/x'",
        "device: '/dev/disk/by-id/x' type: FILE_SYSTEM_TYPE_XFS label: 'thirteen_long'",
        "device: '/dev/disk/by-id/x' type: FILE_SYSTEM_TYPE_XFS label: '-f'"}) {
    EXPECT_THAT(TryMake(absl::StrCat("file_system { ", fields, " }")),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

}  // namespace
}  // namespace muster::agent
