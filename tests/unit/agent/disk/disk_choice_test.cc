#include "agent/disk/disk_choice.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent::disk {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;

constexpr uint64_t kGib = uint64_t{1} << 30;

FoundDisk Blank(const std::string& name) {
  FoundDisk disk;
  disk.device = {"/dev/" + name, 100 * kGib, "S-" + name};
  return disk;
}

FoundDisk Foreign(const std::string& name) {
  FoundDisk disk = Blank(name);
  disk.signatures = {{"filesystem", "xfs", "1b2c-" + name, "data"}};
  return disk;
}

FoundDisk Table(const std::string& name, const std::string& id,
                const std::vector<std::string>& partitions) {
  FoundDisk disk = Blank(name);
  disk.signatures = {{"partition table", "gpt", id, ""}};
  disk.table = PartitionTable{.id = id, .partitions = {}};
  for (const std::string& each : partitions)
    disk.table->partitions.push_back({disk.device.path + each, "", each, kGib});
  return disk;
}

FoundDisk Ours(const std::string& name) {
  FoundDisk disk =
      Table(name, "aa-" + name, {"muster-esp", "muster-root_a", "muster-root_b", "muster-state"});
  disk.user = "in use by the kernel";
  return disk;
}

FoundDisk Unfinished(const std::string& name) {
  return Table(name, kUnfinishedTable, {"muster-esp"});
}

FoundDisk Used(FoundDisk disk) {
  disk.user = "in use by dm-0";
  return disk;
}

FoundDisk Unreadable(const std::string& name) {
  FoundDisk disk = Blank(name);
  disk.unreadable = "Input/output error";
  return disk;
}

struct Case {
  const char* what;
  std::vector<FoundDisk> disks;
  DiskWish wish;
  const char* chosen;  // "": none
  bool divide = true;
};

DiskWish Wish(const std::string& device, bool is_of_inventory = false) {
  return {.device = device, .is_of_inventory = is_of_inventory, .bytes_of_layout = 10 * kGib};
}

TEST(DiskChoice, WhatHoldsAnythingIsTakenByNameAlone) {
  const Case cases[] = {
      {"the only one that holds nothing", {Foreign("a"), Blank("b")}, Wish("blank"), "/dev/b"},
      {"none", {}, Wish("blank"), ""},
      {"only data", {Foreign("a")}, Wish("blank"), ""},
      {"two that hold nothing", {Blank("a"), Blank("b")}, Wish("blank"), ""},
      {"one that is used without a signature", {Used(Blank("a"))}, Wish("blank"), ""},
      {"one that cannot be read", {Unreadable("a")}, Wish("blank"), ""},
      {"ours before one that holds nothing",
       {Blank("a"), Ours("b")},
       Wish("blank"),
       "/dev/b",
       false},
      {"what was begun", {Foreign("a"), Unfinished("b")}, Wish("blank"), "/dev/b"},
      {"two of ours", {Ours("a"), Ours("b")}, Wish("blank"), ""},
      {"one of the two by name", {Ours("a"), Ours("b")}, Wish("serial:S-b"), "/dev/b", false},
      {"a blank one by name", {Blank("a"), Blank("b")}, Wish("serial:S-a"), "/dev/a"},
      {"data by the image", {Foreign("a")}, Wish("serial:S-a"), ""},
      {"data by the inventory", {Foreign("a")}, Wish("serial:S-a", true), "/dev/a"},
      {"data by its uuid", {Foreign("a")}, Wish("uuid:1B2C-a", true), "/dev/a"},
      {"used data by the inventory", {Used(Foreign("a"))}, Wish("serial:S-a", true), ""},
      {"unreadable by the inventory", {Unreadable("a")}, Wish("serial:S-a", true), ""},
      {"not there", {Blank("a")}, Wish("serial:S-x", true), ""},
      {"the uuid that was there before",
       {Ours("a"), Foreign("b")},
       Wish("uuid:1b2c-x", true),
       "/dev/a",
       false},
      {"a serial number that was never there", {Ours("a")}, Wish("serial:S-x", true), ""},
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(row.what);
    const auto choice = ChooseDisk(row.disks, row.wish);
    if (*row.chosen == '\0') {
      EXPECT_THAT(choice, StatusIs(absl::StatusCode::kFailedPrecondition, _));
      continue;
    }
    ASSERT_OK(choice);
    EXPECT_EQ(choice->disk->device.path, row.chosen);
    EXPECT_EQ(choice->divide, row.divide);
  }
}

TEST(DiskChoice, ForeignTablesAreData) {
  EXPECT_THAT(ChooseDisk({Table("a", "bb", {"muster-esp", "EFI"})}, Wish("blank")),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(
      ChooseDisk(
          {Table("a", "bb",
                 {"muster-esp", "muster-esp", "muster-root_a", "muster-root_b", "muster-state"})},
          Wish("blank")),
      StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST(DiskChoice, TheMessageHasAllDisks) {
  EXPECT_THAT(ChooseDisk({Foreign("sda"), Used(Blank("sdb")), Unreadable("sdc")}, Wish("blank")),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  DiskWish wish = Wish("blank");
  wish.bytes_of_layout = 200 * kGib;
  EXPECT_THAT(ChooseDisk({Blank("sda")}, wish),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(ChooseDisk({Foreign("sda")}, Wish("serial:S-sda")),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::agent::disk
