#include "agent/burnin/curves.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::burnin {
namespace {

Sample SampleAt(int second, double value, const char* metric = "tflops") {
  return {.at = absl::Seconds(second), .subject = "GPU-1", .metric = metric, .value = value};
}

// Four curves of five minutes, four samples a second.
TEST(Curves, ShortOnesStayAsTheyAre) {
  const char* const metrics[] = {"clock", "power_watts", "temperature", "tflops"};
  Curves curves;
  for (int i = 0; i < 1200; ++i)
    for (const char* metric : metrics) curves.Add(SampleAt(i, i % 3, metric));
  const std::vector<Sample> samples = curves.Samples();
  ASSERT_EQ(samples.size(), 4800u);
  for (int i = 0; i < 4800; ++i) {
    EXPECT_EQ(samples[i].metric, metrics[i / 1200]);
    EXPECT_EQ(samples[i].at, absl::Seconds(i % 1200));
    EXPECT_EQ(samples[i].value, i % 1200 % 3);
  }
}

TEST(Curves, LongOnesAreThinnedAndKeepPeaksAndDips) {
  Curves curves;
  for (int i = 0; i < 100'000; ++i) {
    const double value = i == 31'415 ? 97 : i == 92'653 ? 3 : 50;
    curves.Add(SampleAt(i, value));
    curves.Add(SampleAt(i, 1, "power_watts"));
  }
  const std::vector<Sample> samples = curves.Samples();
  EXPECT_LE(samples.size(), Curves::kMaxPointsInAll);
  EXPECT_GE(samples.size(), Curves::kMaxStretches / 2);
  const auto has = [&samples](double value) {
    return std::any_of(samples.begin(), samples.end(),
                       [value](const Sample& sample) { return sample.value == value; });
  };
  EXPECT_TRUE(has(97));
  EXPECT_TRUE(has(3));
  EXPECT_EQ(samples.front().at, absl::ZeroDuration());
  EXPECT_EQ(samples.back().at, absl::Seconds(99'999));
}

// Sixteen GPUs with ten curves each once made a line that the agent refused.
TEST(Curves, ManyOfThemStillFitIntoOneLine) {
  Curves curves;
  for (int i = 0; i < 239; ++i) {
    for (int curve = 0; curve < 160; ++curve) {
      Sample sample = SampleAt(i, i == 100 ? 97 : 50);
      sample.variant = std::to_string(curve);
      curves.Add(sample);
    }
  }
  const std::vector<Sample> samples = curves.Samples();
  EXPECT_LE(samples.size(), Curves::kMaxPointsInAll);
  const auto peaks = std::count_if(samples.begin(), samples.end(),
                                   [](const Sample& sample) { return sample.value == 97; });
  EXPECT_EQ(peaks, 160);
}

// Long curves get the points that a short one does not need.
TEST(Curves, ShortOnesBesideLongOnesStayAsTheyAre) {
  Curves curves;
  for (int i = 0; i < 1000; ++i) {
    for (int curve = 0; curve < 10; ++curve) {
      Sample sample = SampleAt(i, i % 7);
      sample.variant = std::to_string(curve);
      curves.Add(sample);
    }
    if (i % 4 == 0) curves.Add(SampleAt(i, 3, "tflops of a second"));
  }
  const std::vector<Sample> samples = curves.Samples();
  EXPECT_LE(samples.size(), Curves::kMaxPointsInAll);
  EXPECT_GE(samples.size(), Curves::kMaxPointsInAll - 100);
  EXPECT_EQ(
      std::count_if(samples.begin(), samples.end(),
                    [](const Sample& sample) { return sample.metric == "tflops of a second"; }),
      250);
}

TEST(Curves, AreInTheOrderOfTime) {
  Curves curves;
  for (int i = 0; i < 5'000; ++i) curves.Add(SampleAt(i, i % 7));
  const std::vector<Sample> samples = curves.Samples();
  EXPECT_TRUE(std::is_sorted(samples.begin(), samples.end(),
                             [](const Sample& a, const Sample& b) { return a.at < b.at; }));
}

}  // namespace
}  // namespace muster::burnin
