#include "common/base/text/counted.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Counted, OneThingIsNotSeveral) {
  EXPECT_EQ(Counted(1, "node"), "1 node");
  EXPECT_EQ(Counted(0, "node"), "0 nodes");
  EXPECT_EQ(Counted(2, "node"), "2 nodes");
  EXPECT_EQ(Counted(11, "node"), "11 nodes");
  EXPECT_EQ(Counted(uint64_t{1}, "slow measurement"), "1 slow measurement");
  EXPECT_EQ(Counted(1.0, "retransmit"), "1 retransmit");
  EXPECT_EQ(Counted(1.5, "time"), "1.5 times");
}

TEST(CountedAre, AgreesWithItsVerb) {
  EXPECT_EQ(CountedAre(1, "result"), "1 result is");
  EXPECT_EQ(CountedAre(3, "result"), "3 results are");
}

}  // namespace
}  // namespace muster
