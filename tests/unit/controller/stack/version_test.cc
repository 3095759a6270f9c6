#include "controller/stack/version.h"

#include <gtest/gtest.h>

namespace muster::controller::stack {
namespace {

TEST(Version, NumbersAreCompared) {
  EXPECT_LT(CompareVersions("6.1", "6.12"), 0);
  EXPECT_GT(CompareVersions("6.12.117-1", "6.2"), 0);
  EXPECT_EQ(CompareVersions("6.1", "6.1.0-37-amd64"), 0);
  EXPECT_EQ(CompareVersions("", "0"), 0);
  // Beyond fifteen digits nothing overflows.
  EXPECT_EQ(CompareVersions("99999999999999999999", "999999999999999"), 0);
}

TEST(Version, LinesEndAtTheEndOfANumber) {
  EXPECT_TRUE(IsOfLine("22.05.8", "22.05"));
  EXPECT_TRUE(IsOfLine("22.05.8-4+deb12u3", "22.05.8"));
  EXPECT_TRUE(IsOfLine("535", "535"));
  EXPECT_FALSE(IsOfLine("22.051", "22.05"));
  EXPECT_FALSE(IsOfLine("5350.1", "535"));
  EXPECT_FALSE(IsOfLine("22.05", "22.05.8"));
  EXPECT_FALSE(IsOfLine("22.05", ""));
}

TEST(Version, HasNoBlanksAndNoWildcards) {
  EXPECT_TRUE(IsVersion("20.10.24+dfsg1-1+deb12u1+b6"));
  EXPECT_TRUE(IsVersion("3:610.57.04-1.el9"));
  for (const char* text : {"", "535.*", "5 35", "latest", "{{ v }}", "1;ls", "1/2"}) {
    EXPECT_FALSE(IsVersion(text)) << text;
  }
}

TEST(Version, RangesEndBelowTheirEnd) {
  const VersionRange range{"6.1", "6.2"};
  EXPECT_TRUE(range.Contains("6.1.0-37-amd64"));
  EXPECT_TRUE(range.Contains("6.1"));
  EXPECT_FALSE(range.Contains("6.2.0-1-amd64"));
  EXPECT_FALSE(range.Contains("6.0.9"));
  EXPECT_TRUE((VersionRange{"5.14", "6.13"}.Contains(range)));
  EXPECT_TRUE(range.Contains(range));
  EXPECT_FALSE((VersionRange{"6.1.5", "6.13"}.Contains(range)));
  EXPECT_FALSE((VersionRange{"5.14", "6.1.5"}.Contains(range)));
}

}  // namespace
}  // namespace muster::controller::stack
