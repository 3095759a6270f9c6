#include "common/image/disk_section.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/image/definition.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::image {
namespace {

using ::testing::StartsWith;

constexpr char kHead[] = "kind: disk\ndistribution: debian12\nkernel: k\n";

absl::StatusOr<Definition> ParseDisk(const std::string& text) {
  return ParseDefinition("node", "images/node/image.yaml", absl::StrCat(kHead, text));
}

TEST(DiskSection, TheUsualDisk) {
  const auto definition = ParseDisk("");
  ASSERT_OK(definition);
  EXPECT_EQ(definition->disk.device, "blank");
  EXPECT_EQ(definition->disk.esp_mib, 512);
  EXPECT_EQ(definition->disk.root_mib, 4096);
  EXPECT_EQ(definition->disk.state_mib, 8192);
  EXPECT_TRUE(definition->disk.partitions.empty());
}

TEST(DiskSection, EverythingIsRead) {
  const auto definition = ParseDisk(R"(disk:
  device: serial:S4EVNX0M
  esp_mib: 1024
  root_mib: 2048
  state_mib: 4096
  partitions:
    - {name: spool, file_system: ext4, mib: 1024}
    - {name: scratch, file_system: xfs, mib: rest}
)");
  ASSERT_OK(definition);
  const DiskSection& disk = definition->disk;
  EXPECT_EQ(disk.device, "serial:S4EVNX0M");
  EXPECT_EQ(disk.esp_mib, 1024);
  EXPECT_EQ(disk.root_mib, 2048);
  EXPECT_EQ(disk.state_mib, 4096);
  ASSERT_EQ(disk.partitions.size(), 2u);
  EXPECT_EQ(disk.partitions[0].name, "spool");
  EXPECT_EQ(disk.partitions[0].mib, 1024);
  EXPECT_EQ(disk.partitions[1].file_system, "xfs");
  EXPECT_EQ(disk.partitions[1].mib, 0);
}

TEST(DiskSection, TheStateCanHaveTheRest) {
  const auto definition = ParseDisk("disk: {state_mib: rest}\n");
  ASSERT_OK(definition);
  EXPECT_EQ(definition->disk.state_mib, 0);
}

struct BadDisk {
  const char* text;
  const char* place;
};

class BadDiskSection : public ::testing::TestWithParam<BadDisk> {};

TEST_P(BadDiskSection, IsRefusedWhereItIsWrong) {
  const absl::Status status = ParseDisk(GetParam().text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              StartsWith(absl::StrCat("images/node/image.yaml:", GetParam().place, ": ")));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadDiskSection,
    ::testing::Values(
        BadDisk{"disk: [1]\n", "4:7"}, BadDisk{"disk: {device: sda}\n", "4:16"},
        BadDisk{"disk: {disc: blank}\n", "4:8"}, BadDisk{"disk: {root_mib: 10}\n", "4:18"},
        BadDisk{"disk: {root_mib: rest}\n", "4:18"}, BadDisk{"disk: {root_mib: 4G}\n", "4:18"},
        BadDisk{"disk: {esp_mib: -512}\n", "4:17"},
        BadDisk{"disk: {state_mib: 9223372036854775807}\n", "4:19"},
        BadDisk{"disk: {partitions: 5}\n", "4:20"},
        BadDisk{"disk:\n  partitions:\n  - {name: A, file_system: xfs, mib: rest}\n", "6:12"},
        BadDisk{"disk:\n  partitions:\n  - {name: state, file_system: xfs, mib: rest}\n", "6:12"},
        BadDisk{"disk:\n  partitions:\n  - {name: a, file_system: ntfs, mib: rest}\n", "6:28"},
        BadDisk{"disk:\n  partitions:\n  - {name: a, file_system: xfs}\n", "6:5"},
        BadDisk{"disk:\n  partitions:\n  - {name: a, file_system: xfs, mib: rest}\n"
                "  - {name: b, file_system: xfs, mib: 64}\n",
                "6:5"},
        BadDisk{"disk:\n  state_mib: rest\n  partitions:\n"
                "  - {name: a, file_system: xfs, mib: rest}\n",
                "5:14"}));

TEST(DiskSection, IsNotOfAnImageInMemory) {
  const absl::Status status =
      ParseDefinition("node", "images/node/image.yaml",
                      "kind: ram\ndistribution: debian12\nkernel: k\ndisk: {}\n")
          .status();
  EXPECT_THAT(std::string(status.message()), StartsWith("images/node/image.yaml:4:7: "));
}

}  // namespace
}  // namespace muster::image
