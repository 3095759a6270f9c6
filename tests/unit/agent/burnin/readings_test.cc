#include "agent/burnin/readings.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::burnin {
namespace {

constexpr size_t kAll = 1'000'000;

Reading ReadingAt(double second, double value) { return {absl::Seconds(second), value}; }

bool Has(const std::vector<Reading>& points, const Reading& wanted) {
  return std::any_of(points.begin(), points.end(), [&wanted](const Reading& point) {
    return point.at == wanted.at && point.value == wanted.value;
  });
}

// A quantity that wanders, at uneven times, as whole numbers: equal neighbors are common.
std::vector<Reading> Wandering(std::mt19937& random, size_t count) {
  std::vector<Reading> readings;
  double value = 60, second = 0;
  for (size_t i = 0; i < count; ++i) {
    value += std::uniform_int_distribution<int>(-2, 2)(random);
    second += 0.25 * std::uniform_int_distribution<int>(1, 3)(random);
    readings.push_back(ReadingAt(second, value));
  }
  return readings;
}

Readings Taken(const std::vector<Reading>& readings, size_t max_stretches) {
  Readings taken(max_stretches);
  for (const Reading& reading : readings) taken.Add(reading);
  return taken;
}

TEST(Readings, NoneAtAll) {
  const Readings readings(8);
  EXPECT_EQ(readings.count(), 0u);
  EXPECT_EQ(readings.Median(), 0);
  EXPECT_TRUE(readings.Points(kAll).empty());
}

TEST(Readings, FewAreKeptAsTheyAre) {
  std::mt19937 random(1);
  const std::vector<Reading> added = Wandering(random, 1200);
  const Readings readings = Taken(added, 1200);
  const std::vector<Reading> points = readings.Points(kAll);
  ASSERT_EQ(points.size(), added.size());
  for (size_t i = 0; i < added.size(); ++i) {
    EXPECT_EQ(points[i].at, added[i].at);
    EXPECT_EQ(points[i].value, added[i].value);
  }
  std::vector<double> values;
  for (const Reading& reading : added) values.push_back(reading.value);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(readings.Median(), values[600]);
}

// Equal readings at one time are two readings.
TEST(Readings, TwinsAreBothKept) {
  const Readings readings = Taken({ReadingAt(1, 5), ReadingAt(1, 5), ReadingAt(2, 5)}, 8);
  EXPECT_EQ(readings.Points(kAll).size(), 3u);
}

// Whatever was added, and however few points are requested: never more than that, all of them were
// added, in the order of time, from the first to the last, with the lowest and the highest.
TEST(Readings, KeepOrderSpanAndExtremes) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const size_t count = std::uniform_int_distribution<size_t>(1, 3000)(random);
    const size_t stretches = std::uniform_int_distribution<size_t>(2, 70)(random);
    const size_t most = std::uniform_int_distribution<size_t>(0, 200)(random);
    SCOPED_TRACE(::testing::Message()
                 << count << " readings in " << stretches << " stretches as " << most << " points");
    const std::vector<Reading> added = Wandering(random, count);
    const Readings readings = Taken(added, stretches);
    const auto [lowest, highest] =
        std::minmax_element(added.begin(), added.end(),
                            [](const Reading& a, const Reading& b) { return a.value < b.value; });
    EXPECT_EQ(readings.count(), count);
    EXPECT_EQ(readings.Lowest(), lowest->value);
    EXPECT_EQ(readings.Highest(), highest->value);
    EXPECT_LE(readings.Points(kAll).size(), 2 * stretches + 2);

    const std::vector<Reading> points = readings.Points(most);
    EXPECT_LE(points.size(), std::max<size_t>(most, 4));
    for (const Reading& point : points) EXPECT_TRUE(Has(added, point));
    EXPECT_TRUE(std::is_sorted(points.begin(), points.end(),
                               [](const Reading& a, const Reading& b) { return a.at < b.at; }));
    EXPECT_EQ(points.front().at, added.front().at);
    EXPECT_EQ(points.back().at, added.back().at);
    EXPECT_EQ(std::min_element(points.begin(), points.end(),
                               [](const auto& a, const auto& b) { return a.value < b.value; })
                  ->value,
              lowest->value);
    EXPECT_EQ(std::max_element(points.begin(), points.end(),
                               [](const auto& a, const auto& b) { return a.value < b.value; })
                  ->value,
              highest->value);
  }
}

// One reading out of two weeks is evidence, whichever it is.
TEST(Readings, SinglePeakOfTwoWeeksRemains) {
  constexpr int kCount = 14 * 86400 * 4;
  for (const int peak : {1, 77'777, 3'141'592, kCount - 2}) {
    Readings readings(1200);
    for (int i = 0; i < kCount; ++i) readings.Add(ReadingAt(0.25 * i, i == peak ? 97 : 61));
    const std::vector<Reading> points = readings.Points(100);
    EXPECT_LE(points.size(), 100u);
    EXPECT_TRUE(Has(points, ReadingAt(0.25 * peak, 97))) << peak;
  }
}

// The curve over the whole time remains: no gap is longer than a few stretches.
TEST(Readings, ArePointsOfTheWholeTime) {
  Readings readings(64);
  for (int i = 0; i < 100'000; ++i) readings.Add(ReadingAt(i, i % 10));
  const std::vector<Reading> points = readings.Points(40);
  for (size_t i = 1; i < points.size(); ++i)
    EXPECT_LE(points[i].at - points[i - 1].at, absl::Seconds(4 * 100'000 / 19));
}

TEST(Readings, MedianOfMergedOnesIsThatOfTheirMeans) {
  std::mt19937 random(3);
  const std::vector<Reading> added = Wandering(random, 50'000);
  std::vector<double> values;
  for (const Reading& reading : added) values.push_back(reading.value);
  std::sort(values.begin(), values.end());
  const Readings readings = Taken(added, 1024);
  EXPECT_NEAR(readings.Median(), values[25'000], 0.02 * (values.back() - values.front()));
}

TEST(Readings, MedianFromATimeOnLeavesOutWhatWasBefore) {
  Readings few(2048), many(64);
  for (int i = 0; i < 1000; ++i) {
    few.Add(ReadingAt(i, i < 500 ? 1000 : 2000));
    many.Add(ReadingAt(i, i < 500 ? 1000 : 2000));
  }
  EXPECT_EQ(few.Median(absl::Seconds(500)), 2000);
  EXPECT_EQ(many.Median(absl::Seconds(500)), 2000);
  EXPECT_EQ(few.Median(absl::Seconds(1000)), 0);
}

}  // namespace
}  // namespace muster::burnin
