#include "agent/burnin/nic/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::burnin {
namespace {

TEST(StatisticsTest, PercentilesAreByNearestRank) {
  std::vector<float> times;
  for (int i = 1000; i >= 1; --i) times.push_back(static_cast<float>(i));
  const RoundTripTimes summary = Summarize(times);
  EXPECT_EQ(summary.p50, 500);
  EXPECT_EQ(summary.p99, 990);
  EXPECT_EQ(summary.p999, 999);
  EXPECT_EQ(summary.largest, 1000);
}

TEST(StatisticsTest, FewTimesHaveTheLargestForTheirTail) {
  const RoundTripTimes one = Summarize({7});
  EXPECT_EQ(one.p50, 7);
  EXPECT_EQ(one.p999, 7);
  const RoundTripTimes two = Summarize({9, 7});
  EXPECT_EQ(two.p50, 7);
  EXPECT_EQ(two.p99, 9);
  EXPECT_EQ(Summarize({}).largest, 0);
}

TEST(StatisticsTest, MedianOfEvenNumbersIsBetween) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median({}), 0);
}

}  // namespace
}  // namespace muster::burnin
