#include "common/base/text/text_diff.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string Numbers(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) absl::StrAppend(&text, i, "\n");
  return text;
}

TEST(UnifiedDiff, ShowsHunksWithContext) {
  const struct {
    const char* name;
    std::string before, after, want;
  } kCases[] = {
      {"equal", "a\n", "a\n", ""},
      {"new file", "", "a\nb\n", "--- f (before)\n+++ f (after)\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
      {"emptied", "a\n", "", "--- f (before)\n+++ f (after)\n@@ -1 +0,0 @@\n-a\n"},
      {"one line", "a\nb\nc\n", "a\nX\nc\n",
       "--- f (before)\n+++ f (after)\n@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n"},
      {"context is bounded", Numbers(1, 20), Numbers(1, 9) + "x\n" + Numbers(10, 20),
       "--- f (before)\n+++ f (after)\n@@ -7,6 +7,7 @@\n 7\n 8\n 9\n+x\n 10\n 11\n 12\n"},
      {"newline at the end appears", "a", "a\n",
       "--- f (before)\n+++ f (after)\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
      {"two hunks", Numbers(1, 20), "0\n" + Numbers(1, 20) + "21\n",
       "--- f (before)\n+++ f (after)\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n"
       "@@ -18,3 +19,4 @@\n 18\n 19\n 20\n+21\n"},
      {"binary", std::string("a\0b", 3), "a", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(UnifiedDiff(c.before, c.after, "f"), c.want);
  }
}

TEST(UnifiedDiff, JoinsHunksThatTouch) {
  const std::string diff = UnifiedDiff(Numbers(1, 9), "0\n" + Numbers(2, 6) + "7x\n8\n9\n", "f");
  EXPECT_EQ(diff.find("@@ -"), diff.rfind("@@ -")) << diff;
}

TEST(UnifiedDiff, StaysBoundedWhereEverythingDiffers) {
  EXPECT_EQ(UnifiedDiff(std::string(kMaxDiffInput + 1, 'x'), "", "f"), "");
  const std::string diff = UnifiedDiff(Numbers(1, 60000), Numbers(100000, 160000), "f");
  EXPECT_LT(diff.size(), kMaxDiffOutput + 200);
  EXPECT_THAT(diff, EndsWith("not shown\n"));
}

// patch(1) with the diff must give the new text, whatever the texts are.
TEST(UnifiedDiff, AppliesToTheOldText) {
  if (std::system("command -v patch >/dev/null 2>&1") != 0)
    FAIL() << "patch is not installed; run ./dev deps";
  std::string folder = ::testing::TempDir() + "/muster-diff-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::mt19937 random(7);
  const auto text = [&random] {
    std::string lines;
    const int count = static_cast<int>(random() % 30);
    for (int i = 0; i < count; ++i) absl::StrAppend(&lines, random() % 6, "\n");
    if (random() % 4 == 0 && !lines.empty()) lines.pop_back();
    return lines;
  };
  for (int round = 0; round < 100; ++round) {
    const std::string before = text(), after = text();
    if (before == after) continue;
    std::ofstream(folder + "/f") << before;
    std::ofstream(folder + "/p") << UnifiedDiff(before, after, "f");
    ASSERT_EQ(std::system(absl::StrCat("cd ", folder, " && patch -s -f f p >/dev/null").c_str()), 0)
        << UnifiedDiff(before, after, "f");
    std::ifstream result(folder + "/f");
    const std::string patched((std::istreambuf_iterator<char>(result)), {});
    ASSERT_EQ(patched, after) << UnifiedDiff(before, after, "f");
  }
  ASSERT_EQ(std::system(absl::StrCat("rm -r ", folder).c_str()), 0);
}

TEST(LinesKept, NamesEachLineThatStays) {
  using ::testing::ElementsAre;
  using ::testing::Optional;
  EXPECT_THAT(LinesKept("a\nb\nc\n", "x\na\nc\n"),
              ElementsAre(Optional(1u), std::nullopt, Optional(2u)));
  EXPECT_THAT(LinesKept("a\nb", "a\nb\n"), ElementsAre(Optional(0u), std::nullopt))
      << "the newline belongs to its line";
  EXPECT_TRUE(LinesKept("", "a\n").empty());
}

}  // namespace
}  // namespace muster
