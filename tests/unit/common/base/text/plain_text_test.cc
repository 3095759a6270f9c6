#include "common/base/text/plain_text.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

TEST(PlainTextTest, NothingThatSteersATerminalIsLeft) {
  const struct {
    const char* in;
    const char* line;
    const char* text;
  } kCases[] = {
      {"Intel® Xeon® Gold 6230 @ 2.10GHz (µ)", "Intel® Xeon® Gold 6230 @ 2.10GHz (µ)",
       "Intel® Xeon® Gold 6230 @ 2.10GHz (µ)"},
      {"a\nb\tc", "a b c", "a\nb\tc"},
      {"\x1b[1;31mred\x1b[0m", "red", "red"},
      {"\x1b]0;title\x07", " ]0;title ", " ]0;title "},
      {"\x1b[31", " [31", " [31"},
      {"\x1b[\x1b[2J", " [", " ["},
      {"10%\r20%\r\n", "10% 20%  ", "10%\n20%\n"},
      {"\x7f\xc2\x9b"
       "2J",
       "  2J", "  2J"},
      {"abc\xe2\x80\xae"
       "cba",
       "abc cba", "abc cba"},
      {"a\xe2\x81\xa6"
       "b\xe2\x80\xa8"
       "c",
       "a b c", "a b c"},
      {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.line);
    EXPECT_EQ(PlainText(each.in, Lines::kOne), each.line);
    EXPECT_EQ(PlainText(each.in, Lines::kMany), each.text);
    EXPECT_TRUE(IsPlain(each.line, Lines::kOne));
    EXPECT_TRUE(IsPlain(each.text, Lines::kMany));
  }
  EXPECT_FALSE(IsPlain("a\nb", Lines::kOne));
  EXPECT_FALSE(IsPlain(std::string("\0", 1), Lines::kMany));
}

TEST(PlainTextTest, IsNeverLongerThanItMayBe) {
  for (const char* unit : {"x", "®", "€", "\xf0\x9f\x8e\x89", "\xff", "\x1b", "\x1b[0m"}) {
    std::string text;
    while (text.size() < 300) absl::StrAppend(&text, unit);
    for (size_t limit = 8; limit < 40; ++limit) {
      const std::string plain = PlainText(text, Lines::kMany, limit);
      EXPECT_LE(plain.size(), limit);
      EXPECT_TRUE(IsPlain(plain, Lines::kOne));
    }
  }
  EXPECT_EQ(PlainText("12345678", Lines::kOne, 8), "12345678");
  EXPECT_EQ(PlainText("123456789", Lines::kOne, 8), "12…");
}

}  // namespace
}  // namespace muster
