#include "common/base/text/kernel_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(KernelArguments, AreWordsWithTheirValues) {
  EXPECT_THAT(
      ParseKernelArguments("quiet console=tty0  console=ttyS0,115200\troot=UUID=1-2\n"),
      ElementsAre(Pair("console", "ttyS0,115200"), Pair("quiet", ""), Pair("root", "UUID=1-2")));
  EXPECT_THAT(ParseKernelArguments(" \n"), IsEmpty());
}

}  // namespace
}  // namespace muster
