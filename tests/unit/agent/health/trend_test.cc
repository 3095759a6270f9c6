#include "agent/health/trend.h"

#include <gtest/gtest.h>

#include <cmath>

#include "muster/v1/records.pb.h"

namespace muster::agent::health {
namespace {

constexpr absl::Time kFirstLook = absl::FromUnixSeconds(1'900'000'000);

TEST(Trend, TheFirstValueIsHistory) {
  Trend trend;
  const Growth growth = trend.Add(505, kFirstLook);
  EXPECT_EQ(growth.in_boot, 0);
  EXPECT_EQ(growth.in_day, 0);
}

TEST(Trends, KnowTheLastValueAlsoOfAnEarlierBoot) {
  Trends trends;
  EXPECT_EQ(trends.Last("a"), std::nullopt);
  trends.Add("a", 7, kFirstLook);
  trends.Add("a", 5, kFirstLook + absl::Minutes(1));
  EXPECT_EQ(trends.Last("a"), 5);
  v1::HealthRecord record;
  trends.Save(record);
  Trends next;
  next.Load(record, /*same_boot=*/false);
  EXPECT_EQ(next.Last("a"), 5);
}

TEST(Trend, GrowthLeavesItsWindows) {
  Trend trend;
  trend.Add(0, kFirstLook);
  absl::Time now = kFirstLook;
  Growth growth;
  for (int minute = 1; minute <= 30; ++minute) growth = trend.Add(minute, now += absl::Minutes(1));
  EXPECT_EQ(growth.in_hour, 30);
  for (int minute = 0; minute < 120; ++minute) growth = trend.Add(30, now += absl::Minutes(1));
  EXPECT_EQ(growth.in_hour, 0);
  EXPECT_EQ(growth.in_day, 30);
  for (int hour = 0; hour < 30; ++hour) growth = trend.Add(30, now += absl::Hours(1));
  EXPECT_EQ(growth.in_day, 0);
  EXPECT_EQ(growth.in_boot, 30);
}

TEST(Trend, ResetsAreNotNegativeGrowth) {
  Trend trend;
  trend.Add(100, kFirstLook);
  EXPECT_EQ(trend.Add(110, kFirstLook + absl::Minutes(1)).in_boot, 10);
  EXPECT_EQ(trend.Add(3, kFirstLook + absl::Minutes(2)).in_boot, 13);
}

TEST(Trend, ClocksThatAreSetAndNumbersThatAreNoneDoNoHarm) {
  Trend trend;
  trend.Add(0, kFirstLook);
  trend.Add(5, kFirstLook + absl::Hours(24 * 3650));
  EXPECT_EQ(trend.Add(7, kFirstLook + absl::Minutes(1)).in_boot, 7);
  EXPECT_EQ(trend.Add(NAN, kFirstLook + absl::Minutes(2)).in_boot, 7);
  EXPECT_EQ(trend.Add(INFINITY, kFirstLook + absl::Minutes(3)).in_boot, 7);
}

TEST(Trend, SamplesAreBounded) {
  Trend trend;
  for (int i = 0; i < 60 * 24 * 7; ++i) trend.Add(i, kFirstLook + absl::Minutes(i));
  EXPECT_LE(trend.ToRecord("x").samples_size(), 45);
}

TEST(Trends, SurviveARestartAndABoot) {
  Trends before;
  before.Add("ecc", 10, kFirstLook);
  before.Add("ecc", 12, kFirstLook + absl::Minutes(10));
  v1::HealthRecord record;
  before.Save(record);

  Trends restarted;
  restarted.Load(record, /*same_boot=*/true);
  EXPECT_EQ(restarted.Add("ecc", 12, kFirstLook + absl::Minutes(20)).in_boot, 2);

  Trends rebooted;
  rebooted.Load(record, /*same_boot=*/false);
  // A counter of the hardware goes on; its growth since the last look is of the boot before.
  Growth growth = rebooted.Add("ecc", 13, kFirstLook + absl::Minutes(20));
  EXPECT_EQ(growth.in_boot, 0);
  EXPECT_EQ(growth.in_day, 3);
  EXPECT_EQ(rebooted.Add("ecc", 14, kFirstLook + absl::Minutes(21)).in_boot, 1);

  Trends reset;
  reset.Load(record, /*same_boot=*/false);
  // One of the kernel's begins anew.
  EXPECT_EQ(reset.Add("ecc", 2, kFirstLook + absl::Minutes(20)).in_day, 2);
  EXPECT_EQ(reset.Add("ecc", 3, kFirstLook + absl::Minutes(21)).in_boot, 1);
}

TEST(Trends, AreBounded) {
  Trends trends;
  for (int i = 0; i < 5000; ++i) trends.Add(std::to_string(i), 1, kFirstLook);
  v1::HealthRecord record;
  trends.Save(record);
  EXPECT_EQ(record.trends_size(), static_cast<int>(Trends::kMaxTrends));
}

}  // namespace
}  // namespace muster::agent::health
