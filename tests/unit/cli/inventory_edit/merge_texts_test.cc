#include "cli/inventory_edit/merge_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kBase[] =
    "# The cluster.\n"
    "nodes:\n"
    "  a: {role: login}\n"
    "  b: {role: compute}\n"
    "\n"
    "vars:\n"
    "  x: 1  # one\n";

TEST(MergeTexts, ChangesInDifferentPlacesAreJoinedWithTheirComments) {
  const TextMerge merge = MergeTexts(kBase,
                                     "# The cluster.\n"
                                     "nodes:\n"
                                     "  a: {role: login}\n"
                                     "  b: {role: compute}\n"
                                     "\n"
                                     "vars:\n"
                                     "  x: 2  # two\n"
                                     "  y: 3\n",
                                     "# The cluster.\n"
                                     "nodes:\n"
                                     "  # The front.\n"
                                     "  a: {role: login, rack: r1}\n"
                                     "  b: {role: compute}\n"
                                     "\n"
                                     "vars:\n"
                                     "  x: 1  # one\n");
  EXPECT_THAT(merge.conflicts, IsEmpty());
  EXPECT_EQ(merge.text,
            "# The cluster.\n"
            "nodes:\n"
            "  # The front.\n"
            "  a: {role: login, rack: r1}\n"
            "  b: {role: compute}\n"
            "\n"
            "vars:\n"
            "  x: 2  # two\n"
            "  y: 3\n");
}

struct MergeCase {
  const char* name;
  const char* base;
  const char* mine;
  const char* theirs;
  const char* text;  // nullptr: conflicts
  std::vector<size_t> conflicts = {};
};
constexpr char kAbc[] = "a\nb\nc\n";

TEST(MergeTexts, FollowsTheTable) {
  const MergeCase cases[] = {
      {"nothing", kAbc, kAbc, kAbc, kAbc},
      {"only mine", kAbc, "a\nc\n", kAbc, "a\nc\n"},
      {"only theirs", kAbc, kAbc, "x\na\nb\nc\ny\n", "x\na\nb\nc\ny\n"},
      {"the same", kAbc, "a\nB\nc\n", "a\nB\nc\n", "a\nB\nc\n"},
      {"removed and added elsewhere", kAbc, "b\nc\n", "a\nb\nc\nd\n", "b\nc\nd\n"},
      {"no newline at the end", "a\nb\nc", "A\nb\nc", "a\nb\nc\nd", "A\nb\nc\nd", {}},
      {"everything gone", kAbc, "", kAbc, ""},
      {"from nothing, the same", "", "a\n", "a\n", "a\n"},
      {"the same line", kAbc, "a\nB\nc\n", "a\nbb\nc\n", nullptr, {2}},
      {"neighbors", kAbc, "a\nB\nc\n", "a\nb\nC\n", nullptr, {2}},
      {"changed and removed", kAbc, "a\nb\nC\n", "a\nb\n", nullptr, {3}},
      {"both at the end", kAbc, "a\nb\nc\nd\n", "a\nb\nc\ne\n", nullptr, {4}},
      {"two places", "a\nb\nc\nd\n", "A\nb\nc\nD\n", "aa\nb\nc\ndd\n", nullptr, {1, 4}},
  };
  for (const MergeCase& c : cases) {
    SCOPED_TRACE(c.name);
    const TextMerge merge = MergeTexts(c.base, c.mine, c.theirs);
    EXPECT_EQ(merge.conflicts, c.conflicts);
    if (c.text != nullptr) {
      EXPECT_EQ(merge.text, c.text);
    }
  }
}

TEST(MergeTexts, WhatOneOfTwoLeavesAloneIsTheOthers) {
  std::mt19937 random(7);
  const auto edit = [&](std::vector<int> lines) {
    for (int i = 0; i < 3; ++i) {
      const size_t at = random() % (lines.size() + 1);
      if (random() % 2 == 0 || at == lines.size()) {
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at),
                     static_cast<int>(random() % 9));
      } else {
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    return lines;
  };
  const auto text = [](const std::vector<int>& lines) {
    std::string all;
    for (const int line : lines) all += std::to_string(line) + "\n";
    return all;
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<int> lines(random() % 12);
    for (int& line : lines) line = static_cast<int>(random() % 9);
    const std::string base = text(lines), mine = text(edit(lines)), theirs = text(edit(lines));
    EXPECT_EQ(MergeTexts(base, mine, base).text, mine);
    EXPECT_EQ(MergeTexts(base, base, theirs).text, theirs);
    EXPECT_EQ(MergeTexts(base, mine, mine).text, mine);
    const TextMerge one = MergeTexts(base, mine, theirs), other = MergeTexts(base, theirs, mine);
    EXPECT_EQ(one.conflicts.size(), other.conflicts.size());
    if (one.conflicts.empty()) {
      EXPECT_EQ(one.text, other.text);
    }
  }
}

TEST(MergeFiles, FilesComeAndGo) {
  const TextsByPath base = {{"kept", "1\n"}, {"mine", "2\n"}, {"theirs", "3\n"}, {"both", "4\n"}};
  const TextsByPath mine = {{"kept", "1\n"}, {"theirs", "3\n"}, {"new", "5\n"}};
  const TextsByPath theirs = {{"kept", "one\n"}, {"mine", "2\n"}, {"newer", "6\n"}};
  const FilesMerge merge = MergeFiles(base, mine, theirs);
  EXPECT_THAT(merge.conflicts, IsEmpty());
  EXPECT_THAT(merge.files,
              ElementsAre(Pair("kept", "one\n"), Pair("new", "5\n"), Pair("newer", "6\n")));
}

TEST(MergeFiles, ConflictsAreNamedByTheirPlace) {
  const TextsByPath base = {{"a.yaml", "1\n2\n"}, {"gone.yaml", "3\n"}};
  const TextsByPath mine = {{"a.yaml", "1\ntwo\n"}, {"gone.yaml", "three\n"}, {"new.yaml", "4\n"}};
  const TextsByPath theirs = {{"a.yaml", "1\nzwei\n"}, {"new.yaml", "5\n"}};
  EXPECT_THAT(MergeFiles(base, mine, theirs).conflicts,
              ElementsAre("a.yaml:2", "gone.yaml", "new.yaml"));
}

}  // namespace
}  // namespace muster::cli
