#include "common/base/text/user_name.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(UserName, BeginsWithALetterOrDigitAndHasNoneButItsSigns) {
  for (const std::string& name :
       {std::string("a"), std::string("9"), std::string("ann.b-c_d"), std::string(64, 'a')}) {
    EXPECT_TRUE(ValidateUserName(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("_a"), std::string("-a"), std::string(".a"), std::string("a/b"),
        std::string("a b"), std::string("\xc3\xa4"), std::string("a\0", 2), std::string(65, 'a')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ValidateUserName(name))) << name;
  }
}

}  // namespace
}  // namespace muster
