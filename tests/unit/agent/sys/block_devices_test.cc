#include "agent/sys/block_devices.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/sys/unique_fd.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MountPointsOf, FindsThoseOfTheDevice) {
  const std::string mountinfo =
      "28 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 28 8:17 / /srv rw - xfs /dev/sdb1 rw\n"
      "31 28 8:17 /a /home rw - xfs /dev/sdb1 rw\n";
  EXPECT_THAT(MountPointsOf(mountinfo, "8:17"), ElementsAre("/srv", "/home"));
  EXPECT_THAT(MountPointsOf(mountinfo, "8:16"), IsEmpty());
}

TEST(DescribeSignature, NamesWhatThereIs) {
  EXPECT_EQ(DescribeSignature({"filesystem", "xfs", "u-1", "data"}), "xfs 'data' (uuid u-1)");
  EXPECT_EQ(DescribeSignature({"raid", "LVM2_member", "u-2", ""}), "LVM2_member (uuid u-2)");
  EXPECT_EQ(DescribeSignature({"partition table", "gpt", "u-3", ""}), "a gpt partition table");
}

// Images of disks stand for disks.
class SignaturesTest : public ::testing::Test {
 protected:
  SignaturesTest() {
    std::ofstream(path_).flush();
    std::filesystem::resize_file(path_, 64 << 20);
  }
  absl::StatusOr<std::vector<DeviceSignature>> Read() {
    const sys::UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    return ReadSignatures(fd.get(), path_);
  }
  // False where the program is missing.
  bool Run(const std::string& command) {
    return std::system(
               absl::StrCat("PATH=$PATH:/usr/sbin:/sbin; ", command, " ", path_, " >/dev/null 2>&1")
                   .c_str()) == 0;
  }
  void Write(off_t offset, const std::string& bytes) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file << bytes;
  }

  // One Linux partition from sector 2048 on.
  void WritePartitionTable() {
    Write(0x1be + 4, "\x83");
    Write(0x1be + 8, std::string("\x00\x08\x00\x00\x00\x10\x00\x00", 8));
    Write(0x1fe, "\x55\xaa");
  }

  muster::testing::TempDir dir_;
  const std::string path_ = dir_.path() + "/disk";
};

TEST_F(SignaturesTest, NoneOnAnEmptyDisk) { EXPECT_THAT(Read().value(), IsEmpty()); }

TEST_F(SignaturesTest, OfAFileSystem) {
  const std::string uuid = "11111111-2222-3333-4444-555555555555";
  if (!Run("mkfs.ext4 -q -L data -U " + uuid)) GTEST_SKIP() << "no mkfs.ext4";
  EXPECT_THAT(Read().value(), ElementsAre(DeviceSignature{"filesystem", "ext4", uuid, "data"}));
}

TEST_F(SignaturesTest, OfSwap) {
  if (!Run("mkswap")) GTEST_SKIP() << "no mkswap";
  const auto found = Read().value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].type, "swap");
  EXPECT_EQ(found[0].usage, "other");
}

TEST_F(SignaturesTest, OfAPartitionTable) {
  WritePartitionTable();
  const auto found = Read().value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].usage, "partition table");
  EXPECT_EQ(found[0].type, "dos");
}

// A partition table in the sectors that ext4 leaves free: both are named.
TEST_F(SignaturesTest, AllOfThem) {
  if (!Run("mkfs.ext4 -q")) GTEST_SKIP() << "no mkfs.ext4";
  WritePartitionTable();
  EXPECT_EQ(Read().value().size(), 2U);
}

TEST_F(SignaturesTest, AreReadFromBlockDevicesOnly) {
  BlkidBlockDevices devices;
  EXPECT_THAT(devices.Probe(path_), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(devices.Probe(path_ + "x"), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(devices.Probe("/dev/null"), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(devices.Number(path_), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(devices.Number(path_ + "x"), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(SignaturesTest, ADiskWithoutSizeIsNotEmpty) {
  std::filesystem::resize_file(path_, 0);
  EXPECT_FALSE(Read().ok());
}

}  // namespace
}  // namespace muster::agent
