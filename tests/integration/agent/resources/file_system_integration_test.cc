// File systems on real block devices, loop devices, by the real mkfs. Needs root.
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "agent/resources/types.h"
#include "common/sys/unique_fd.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_node.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FileSystemIntegrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const std::string image = dir_.path() + "/image";
    std::ofstream(image).flush();
    std::filesystem::resize_file(image, 64 << 20);
    const sys::UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const int number = control.valid() ? ::ioctl(control.get(), LOOP_CTL_GET_FREE) : -1;
    if (number < 0) GTEST_SKIP() << "needs loop devices";
    loop_ = absl::StrCat("/dev/loop", number);
    loop_fd_ = sys::UniqueFd(::open(loop_.c_str(), O_RDWR | O_CLOEXEC));
    const sys::UniqueFd image_fd(::open(image.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::ioctl(loop_fd_.get(), LOOP_SET_FD, image_fd.get()), 0);
    // A link such as udev's.
    link_ = absl::StrCat("/dev/shm/muster-test-disk-", ::getpid());
    std::filesystem::create_symlink(loop_, link_);
  }
  ~FileSystemIntegrationTest() override {
    if (loop_fd_.valid()) ::ioctl(loop_fd_.get(), LOOP_CLR_FD, 0);
    std::error_code ignored;
    if (!link_.empty()) std::filesystem::remove(link_, ignored);
  }

  std::unique_ptr<Resource> Ext4(const std::string& more) {
    v1::Step step;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("file_system { device: '", link_, "' type: FILE_SYSTEM_TYPE_EXT4 ", more,
                     " }"),
        &step));
    auto resource = MakeResource(step, context_, /*want_diff=*/false);
    EXPECT_OK(resource);
    return *std::move(resource);
  }
  std::vector<DeviceSignature> Signatures() { return devices_.Probe(link_).value(); }

  muster::testing::TempDir dir_;
  sys::RealFileSystem files_;
  sys::RealProcessRunner processes_;
  BlkidBlockDevices devices_;
  muster::testing::FakeNode node_;
  ResourceRecords records_{dir_.path() + "/records", files_};
  ResourceContext context_{files_,      processes_, node_.units, node_.packages, node_.accounts,
                           node_.blobs, records_,   node_.clock, devices_};
  muster::testing::RecordingObserver observer_;
  std::string loop_, link_;
  sys::UniqueFd loop_fd_;
};

TEST_F(FileSystemIntegrationTest, FormatsAnEmptyDeviceAndReplacesOnlyTheNamedOne) {
  const auto first = Ext4("label: 'one' options: '-m' options: '0'");
  EXPECT_THAT(first->Check().value(), SizeIs(1));
  ASSERT_OK(first->Apply(observer_));
  EXPECT_THAT(first->Check().value(), IsEmpty());
  const std::vector<DeviceSignature> made = Signatures();
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].label, "one");

  EXPECT_THAT(Ext4("label: 'two'")->Check(), StatusIs(absl::StatusCode::kAlreadyExists, _));
  EXPECT_THAT(Ext4("label: 'two'")->Apply(observer_),
              StatusIs(absl::StatusCode::kAlreadyExists, _));
  EXPECT_EQ(Signatures(), made);

  const auto second = Ext4(absl::StrCat("label: 'two' replaces_uuid: '", made[0].uuid, "'"));
  ASSERT_OK(second->Apply(observer_));
  EXPECT_THAT(second->Check().value(), IsEmpty());
  EXPECT_EQ(Signatures()[0].label, "two");
}

TEST_F(FileSystemIntegrationTest, LeavesADeviceInUseAlone) {
  const auto first = Ext4("");
  {
    const sys::UniqueFd user(::open(loop_.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
    ASSERT_TRUE(user.valid());
    EXPECT_THAT(first->Check(),
                StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("in use by the kernel")));
    EXPECT_THAT(Signatures(), IsEmpty());
  }
  ASSERT_OK(first->Apply(observer_));
  const std::string point = dir_.path() + "/mnt";
  std::filesystem::create_directory(point);
  ASSERT_EQ(::mount(loop_.c_str(), point.c_str(), "ext4", 0, nullptr), 0);
  EXPECT_THAT(
      Ext4(absl::StrCat("label: 'two' replaces_uuid: '", Signatures()[0].uuid, "'"))->Check(),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("mounted on " + point)));
  EXPECT_THAT(first->Check().value(), IsEmpty()) << "in sync while it is used";
  EXPECT_EQ(::umount(point.c_str()), 0);
}

TEST_F(FileSystemIntegrationTest, NeverFormatsSwap) {
  ASSERT_EQ(std::system(absl::StrCat("/sbin/mkswap ", loop_, " >/dev/null").c_str()), 0);
  EXPECT_THAT(Ext4("")->Apply(observer_),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("swap")));
  EXPECT_EQ(Signatures()[0].type, "swap");
}

}  // namespace
}  // namespace muster::agent
