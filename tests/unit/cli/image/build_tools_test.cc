#include "cli/image/build_tools.h"

#include <string>

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(SubordinateIds, AreThePersonsAndEnough) {
  const std::string text = "ann:100000:65536\nbob:165536:1000\n1003:300000:65536\nbroken\n";
  EXPECT_TRUE(HasSubordinateIds(text, "ann", 1001));
  EXPECT_FALSE(HasSubordinateIds(text, "bob", 1002));
  EXPECT_TRUE(HasSubordinateIds(text, "eve", 1003));
  EXPECT_FALSE(HasSubordinateIds(text, "dan", 1004));
  EXPECT_FALSE(HasSubordinateIds("", "ann", 1001));
}

}  // namespace
}  // namespace muster::cli
