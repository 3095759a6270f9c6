#include "controller/console/console_text.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace muster::controller::console {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

std::vector<std::string> TextsOf(const std::vector<ConsoleRow>& rows) {
  std::vector<std::string> texts;
  texts.reserve(rows.size());
  for (const ConsoleRow& row : rows) texts.push_back(row.text);
  return texts;
}

std::vector<std::string> Lines(const ConsoleText& text) {
  return TextsOf(text.After(0, ConsoleText::kMostRows));
}

TEST(ConsoleTextTest, LinesComeInAnyPieces) {
  ConsoleText text;
  text.Append("Linux ver", kNow);
  text.Append("sion 6.1\r", kNow);
  text.Append("\n\r\n  Run /init\r\nboo", kNow);
  EXPECT_THAT(Lines(text), ElementsAre("Linux version 6.1", "  Run /init"));
  text.Append("t\n", kNow);
  EXPECT_THAT(Lines(text), ElementsAre("Linux version 6.1", "  Run /init", "boot"));
}

TEST(ConsoleTextTest, APromptIsALineWhenNothingFollows) {
  ConsoleText text;
  text.Append("(initramfs) ", kNow);
  text.Settle(kNow + absl::Milliseconds(900));
  EXPECT_THAT(Lines(text), IsEmpty());
  text.Settle(kNow + absl::Seconds(1));
  ASSERT_THAT(Lines(text), ElementsAre("(initramfs)"));
  EXPECT_EQ(text.After(0, 1)[0].time, kNow) << "when it came";
}

TEST(ConsoleTextTest, NothingOfItCommandsATerminal) {
  ConsoleText text;
  text.Append("\x1b[2J\x1b[1;1H\x1b[33mBIOS\x1b[0m setup\x1b[5;1HPress F2\x1b[10;1H\x07\x01 now\n",
              kNow);
  text.Append(std::string("a\0b", 3), kNow);
  text.Append(
      "\xff\xc2\x9b"
      "31m\xe2\x80\xae"
      "x\n",
      kNow);
  EXPECT_THAT(Lines(text), ElementsAre("BIOS setup", "Press F2", "   now", "ab\xef\xbf\xbd 31m x"));
}

TEST(ConsoleTextTest, FloodsLeaveTheLastRows) {
  ConsoleText text;
  text.Append(std::string(3 * ConsoleText::kLongestRow, 'x'), kNow);
  EXPECT_EQ(text.After(0, 100).size(), 3u);
  const uint64_t first = text.After(0, 100)[0].number;
  EXPECT_EQ(first, 1'900'000'000'000'000u);
  for (int i = 0; i < 5000; ++i) text.Append(absl::StrCat("line ", i, "\n"), kNow);
  const std::vector<ConsoleRow> rows = text.After(0, 100'000);
  ASSERT_EQ(rows.size(), ConsoleText::kMostRows);
  EXPECT_EQ(rows.back().text, "line 4999");
  EXPECT_EQ(rows.back().number, first + 5002);
  EXPECT_THAT(TextsOf(text.After(first + 5000, 100)), ElementsAre("line 4998", "line 4999"));
  EXPECT_THAT(TextsOf(text.After(0, 1)), ElementsAre("line 4999"));
  EXPECT_THAT(text.After(first + 5002, 100), IsEmpty());
  for (int i = 0; i < 5000; ++i)
    text.Append(absl::StrCat(std::string(ConsoleText::kLongestRow - 1, 'y'), "\n"), kNow);
  EXPECT_LE(text.After(0, 100'000).size(),
            ConsoleText::kMostBytes / (ConsoleText::kLongestRow - 1));
}

}  // namespace
}  // namespace muster::controller::console
