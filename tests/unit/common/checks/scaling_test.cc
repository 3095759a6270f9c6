#include "common/checks/scaling.h"

#include <gtest/gtest.h>

namespace muster::checks {
namespace {

TEST(ScalingTest, TheModelGivesBackWhatWasMeasured) {
  constexpr double kBytes = 102'228'128;
  const RingModel model{.latency_s = 20e-6, .bytes_per_second = 1.17e9};
  const double seconds = RingSeconds(model, kBytes, 6);
  const RingModel fitted = FitRing(seconds, kBytes, 6, 20e-6);
  EXPECT_NEAR(fitted.bytes_per_second, 1.17e9, 1);
  EXPECT_EQ(RingSeconds(model, kBytes, 1), 0);
  // By hand: 2·5·20 µs + 2·5/6·102.2 MB / 1.17 GB/s.
  EXPECT_NEAR(seconds, 0.0002 + 0.14562, 1e-5);
  // A time that the latencies alone explain still gives a finite rate.
  EXPECT_GT(FitRing(0.0001, 4, 6, 20e-6).bytes_per_second, 0);
}

TEST(ScalingTest, BandwidthsAreThoseOfNcclTests) {
  // 1 GB in 0.1 s over 8 ranks: 10 GB/s, and 10 · 14/8.
  EXPECT_DOUBLE_EQ(AlgorithmBandwidth(1e9, 0.1), 1e10);
  EXPECT_DOUBLE_EQ(BusBandwidth(1e9, 0.1, 8), 1.75e10);
  EXPECT_DOUBLE_EQ(BusBandwidth(1e9, 0.1, 2), 1e10);
}

TEST(ScalingTest, EfficiencyIsTheComputingPart) {
  EXPECT_DOUBLE_EQ(ScalingEfficiency(0.2, 0, false), 1);
  EXPECT_DOUBLE_EQ(ScalingEfficiency(0.2, 0.2, false), 0.5);
  EXPECT_DOUBLE_EQ(ScalingEfficiency(0.2, 0.2, true), 1);
  EXPECT_DOUBLE_EQ(ScalingEfficiency(0.2, 0.4, true), 0.5);
}

}  // namespace
}  // namespace muster::checks
