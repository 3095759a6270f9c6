#include "controller/validation/verdict/statistics.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::controller::validation {
namespace {

using ::testing::ElementsAre;

TEST(Median, OddAndEven) {
  EXPECT_DOUBLE_EQ(Median({3}), 3);
  EXPECT_DOUBLE_EQ(Median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(Median({-1, -1, 7, 7}), 3);
}

TEST(ScaledMad, EstimatesTheDeviationOfNormalValues) {
  EXPECT_DOUBLE_EQ(ScaledMad({1, 1, 2, 2, 4, 6, 9}, 2), kMadToSigma);
  std::mt19937 random(1);
  std::normal_distribution<double> normal(100, 3);
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) values.push_back(normal(random));
  EXPECT_NEAR(ScaledMad(values, Median(values)), 3, 0.1);
}

TEST(Percentile, InterpolatesBetweenRanks) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(Percentile(values, 0), 10);
  EXPECT_DOUBLE_EQ(Percentile(values, 1), 40);
  EXPECT_DOUBLE_EQ(Percentile(values, 0.5), 25);
  EXPECT_DOUBLE_EQ(Percentile(values, 0.9), 37);
  EXPECT_DOUBLE_EQ(Percentile(values, 7), 40);
  EXPECT_DOUBLE_EQ(Percentile({5}, 0.3), 5);
}

TEST(FairShares, NobodyTellsMoreThanItsShare) {
  const auto sizes = [](const std::vector<size_t>& told, size_t least) {
    std::vector<std::vector<double>> by_teller;
    for (size_t i = 0; i < told.size(); ++i)
      by_teller.emplace_back(told[i], static_cast<double>(i));
    std::vector<size_t> counts(told.size());
    for (const double value : FairShares(by_teller, least)) ++counts[static_cast<size_t>(value)];
    return counts;
  };
  EXPECT_THAT(sizes({4, 4, 4}, 3), ElementsAre(4, 4, 4));
  EXPECT_THAT(sizes({4, 4, 4, 1000}, 3), ElementsAre(4, 4, 4, 6));
  EXPECT_THAT(sizes({1, 1, 1000}, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(sizes({1, 8, 1000}, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(sizes({4, 1000}, 2), ElementsAre(4, 4));
  EXPECT_THAT(sizes({4, 4, 1000}, 2), ElementsAre(4, 4, 8));
  EXPECT_THAT(sizes({1000}, 2), ElementsAre(1000));  // about itself
  EXPECT_THAT(sizes({4, 1000}, 3), ElementsAre(4, 1000));
  EXPECT_TRUE(FairShares({}, 2).empty());
  // The ones that count are spread over the input.
  EXPECT_THAT(FairShares({{0, 0}, {9, 1, 5, 3, 7, 11}}, 2), ElementsAre(0, 0, 3, 9));
}

TEST(FindUsualRange, NeedsPeers) {
  EXPECT_FALSE(FindUsualRange({}, {}, 0).has_value());
  EXPECT_FALSE(FindUsualRange({1, 1, 1, 1, 1, 1, 1}, {}).has_value());
  EXPECT_TRUE(FindUsualRange({1, 1, 1, 1, 1, 1, 1, 1}, {}).has_value());
}

TEST(FindUsualRange, FindsTheOutlierThatMovesTheMean) {
  const auto range = FindUsualRange({100, 101, 99, 100, 102, 98, 100, 1}, {}).value();
  EXPECT_DOUBLE_EQ(range.median, 100);
  EXPECT_GT(range.lower, 1);
  EXPECT_LT(range.lower, 98);
  EXPECT_EQ(range.values, 8u);
}

TEST(FindUsualRange, LeavesEqualValuesRoom) {
  const std::vector<double> equal(8, 50);
  EXPECT_DOUBLE_EQ(FindUsualRange(equal, {5, 0.1, 0}).value().lower, 45);
  EXPECT_DOUBLE_EQ(FindUsualRange(equal, {5, 0.1, 8}).value().upper, 58);
}

}  // namespace
}  // namespace muster::controller::validation
