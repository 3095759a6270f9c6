#include "agent/disk/boot_entries.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace muster::agent::disk {
namespace {

BootEntry Entry(char slot, std::optional<int> tries, uint64_t generation) {
  BootEntry entry;
  entry.slot = slot;
  entry.tries_left = tries;
  entry.generation = generation;
  entry.image = "worker@1a2b3c4d5e6f";
  return entry;
}

TEST(BootEntries, WhatIsWrittenIsRead) {
  const std::string text = RenderBootEntry(
      Entry('b', 3, 41), {"boot=muster", "muster.image=worker@1a2b3c4d5e6f", "a=b=c", "quiet"});
  const auto entry = ReadBootEntry(BootEntryName('b', 3), text);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->slot, 'b');
  EXPECT_EQ(entry->tries_left, 3);
  EXPECT_EQ(entry->generation, 41u);
  EXPECT_EQ(entry->image, "worker@1a2b3c4d5e6f");
  EXPECT_EQ(entry->words.at("a"), "b=c");
  EXPECT_EQ(entry->words.at("quiet"), "");
  EXPECT_TRUE(absl::StrContains(text, "\nlinux /muster/b/kernel\ninitrd /muster/b/initrd\n"));
}

TEST(BootEntries, ASignedKernelImageIsGivenNoWords) {
  BootEntry signed_one = Entry('a', 3, 7);
  signed_one.is_signed = true;
  const std::string text =
      RenderBootEntry(signed_one, {"muster.image=worker@1a2b3c4d5e6f", "muster.report=http://x/y"});
  EXPECT_TRUE(absl::StrContains(text, "\nefi /muster/a/signed.efi\n"));
  EXPECT_FALSE(absl::StrContains(text, "options"));
  EXPECT_FALSE(absl::StrContains(text, "linux"));
  const auto entry = ReadBootEntry(BootEntryName('a', 3), text);
  ASSERT_TRUE(entry.has_value());
  EXPECT_TRUE(entry->is_signed);
  EXPECT_EQ(entry->image, "worker@1a2b3c4d5e6f");
  EXPECT_EQ(entry->words.at("muster.report"), "http://x/y");
}

TEST(BootEntries, NamesHaveTheTries) {
  struct Case {
    const char* name;
    bool is_ours;
    std::optional<int> tries;
  };
  for (const Case& row :
       {Case{"muster-a.conf", true, std::nullopt}, Case{"MUSTER-A.CONF", true, {}},
        Case{"muster-b+3.conf", true, 3}, Case{"muster-b+2-1.conf", true, 2},
        Case{"muster-b+0-3.conf", true, 0}, Case{"muster-c.conf", false, {}},
        Case{"muster-.conf", false, {}}, Case{"muster-ab.conf", false, {}},
        Case{"muster-a+x.conf", false, {}}, Case{"muster-a+-1.conf", false, {}},
        Case{"muster-b.failed", false, {}}, Case{"debian.conf", false, {}}, Case{"", false, {}}}) {
    SCOPED_TRACE(row.name);
    const auto entry = ReadBootEntry(row.name, "");
    EXPECT_EQ(entry.has_value(), row.is_ours);
    if (entry.has_value()) {
      EXPECT_EQ(entry->tries_left, row.tries);
    }
  }
}

TEST(BootEntries, TheOnlyGoodRootIsNeverWritten) {
  using Entries = std::vector<BootEntry>;
  struct Case {
    Entries entries;
    char slot;
  };
  const Case cases[] = {
      {{}, 'a'},
      {{Entry('a', {}, 1)}, 'b'},
      {{Entry('b', {}, 1)}, 'a'},
      {{Entry('a', {}, 1), Entry('b', {}, 2)}, 'a'},
      {{Entry('a', {}, 3), Entry('b', {}, 2)}, 'b'},
      {{Entry('a', {}, 1), Entry('b', 3, 2)}, 'b'},
      {{Entry('a', 0, 3), Entry('b', {}, 2)}, 'a'},
      {{Entry('a', 3, 1)}, 'b'},
      {{Entry('b', 3, 1)}, 'a'},
      {{Entry('a', 0, 1), Entry('b', 2, 2)}, 'a'},
  };
  for (const Case& row : cases) {
    EXPECT_EQ(SlotToWrite(row.entries), row.slot) << &row - cases;
    for (const BootEntry& entry : row.entries)
      EXPECT_GT(NextGeneration(row.entries), entry.generation);
  }
}

TEST(BootEntries, AFallbackIsANewerRootWithoutTries) {
  EXPECT_EQ(FallenBackFrom({Entry('a', {}, 1)}, 'a'), nullptr);
  EXPECT_EQ(FallenBackFrom({Entry('a', {}, 1), Entry('b', 1, 2)}, 'a'), nullptr);
  EXPECT_EQ(FallenBackFrom({Entry('a', {}, 3), Entry('b', 0, 2)}, 'a'), nullptr);
  const std::vector<BootEntry> fallen = {Entry('a', {}, 1), Entry('b', 0, 2)};
  ASSERT_NE(FallenBackFrom(fallen, 'a'), nullptr);
  EXPECT_EQ(FallenBackFrom(fallen, 'a')->slot, 'b');
  EXPECT_EQ(FallenBackFrom(fallen, 'b'), nullptr);
}

TEST(BootEntries, TheWayBackIsARootThatHasComeUp) {
  EXPECT_TRUE(HasWayBack({Entry('a', {}, 1), Entry('b', 2, 2)}, 'b'));
  EXPECT_FALSE(HasWayBack({Entry('a', 1, 1), Entry('b', 2, 2)}, 'b'));
  EXPECT_FALSE(HasWayBack({Entry('a', 2, 1)}, 'a'));
  BootEntry signed_one = Entry('b', 2, 2);
  signed_one.is_signed = true;
  EXPECT_FALSE(HasWayBack({Entry('a', {}, 1), signed_one}, 'b')) << "firmware starts it no more";
  signed_one.tries_left.reset();
  EXPECT_TRUE(HasWayBack({Entry('a', 2, 3), signed_one}, 'a'));
}

}  // namespace
}  // namespace muster::agent::disk
