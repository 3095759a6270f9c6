#include "tests/fixtures/virtual_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

TEST(VirtualScreen, WrapsAndScrolls) {
  VirtualScreen screen(4, 2);
  screen.Write("abcdef\r\n12\r\n…\r\n");
  EXPECT_EQ(screen.Text(), "abcd\nef\n12\n…\n");
}

TEST(VirtualScreen, RedrawsInPlace) {
  VirtualScreen screen(10, 5);
  screen.Write("keep\r\nold one\r\nold two\r\n\033[2A\r\033[2Knew\r\n\033[J");
  EXPECT_EQ(screen.Text(), "keep\nnew\n");
  EXPECT_EQ(screen.error(), "");
}

TEST(VirtualScreen, NamesWhatItDoesNotKnow) {
  VirtualScreen screen(10, 5);
  screen.Write("\033[31mred");
  EXPECT_THAT(screen.error(), HasSubstr("[31m"));
}

}  // namespace
}  // namespace muster::testing
