#include "common/base/text/utf8.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Utf8, MakesAnyBytesValidUtf8) {
  struct Case {
    const char* in;
    const char* out;
  };
  const Case cases[] = {
      {"plain", "plain"},
      {"grün €", "grün €"},
      {"\xff", "\xef\xbf\xbd"},
      {"a\xc3", "a\xef\xbf\xbd"},
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf0\x9f\x8e\x89", "\xf0\x9f\x8e\x89"},
  };
  for (const Case& c : cases) EXPECT_EQ(ValidUtf8(c.in, 100), c.out);
  EXPECT_EQ(ValidUtf8("abcdef", 3), "abc…");
}

}  // namespace
}  // namespace muster
