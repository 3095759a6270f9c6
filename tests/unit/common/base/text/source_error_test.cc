#include "common/base/text/source_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(SourceErrorTest, ShowsTheLineAndACaret) {
  EXPECT_EQ(RenderSourceError("a.yaml", 2, 3, "one\nx: y\nthree", "unknown key"),
            "a.yaml:2:3: unknown key\n"
            "  2 | x: y\n"
            "    |   ^");
}

TEST(SourceErrorTest, TheLastLineNeedsNoNewline) {
  EXPECT_THAT(RenderSourceError("f", 1, 99, "abc", "m"), EndsWith("  1 | abc\n    |    ^"));
}

TEST(SourceErrorTest, ALineBeyondTheEndIsLeftOut) {
  EXPECT_EQ(RenderSourceError("f", 9, 1, "abc\n", "m"), "f:9:1: m");
  EXPECT_EQ(RenderSourceError("f", 0, 0, "abc\n", "m"), "f:0:0: m");
}

TEST(SourceErrorTest, CutsALongLineAroundTheColumn) {
  std::string source(5000, 'a');
  source[3000] = 'X';
  const std::string shown = RenderSourceError("f", 1, 3001, source, "m");
  EXPECT_LT(shown.size(), 400u);
  EXPECT_THAT(shown, HasSubstr("aXa"));
  const size_t shown_at = shown.find('X') - shown.find("\n  1 |");
  const size_t caret_at = shown.find('^') - shown.find("\n    |");
  EXPECT_EQ(shown_at, caret_at);
}

TEST(SourceErrorTest, ControlCharactersDoNotReachTheTerminal) {
  const std::string shown = RenderSourceError("f", 1, 2, "\tab\x1b[31m\r\n", "m");
  EXPECT_EQ(shown, "f:1:2: m\n  1 |  ab [31m\n    |  ^");
}

TEST(SourceErrorTest, CountsCharactersNotBytesBeforeTheCaret) {
  EXPECT_THAT(RenderSourceError("f", 1, 5, "\u00e9\u00e9x", "m"), EndsWith("\n    |   ^"));
}

}  // namespace
}  // namespace muster
