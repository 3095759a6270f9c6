#include "controller/validation/schedule/node_watts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checks/power_samples.h"

namespace muster::controller::validation {
namespace {

using checks::kPowerOfGpus;
using checks::kPowerOfNode;
using checks::kPowerOfProcessors;

const absl::Time kWattsStart = absl::FromUnixSeconds(1700000000);

struct Watts {
  const char* source;
  double watts;
  double at_s = 20;
};

v1::CheckProgress Samples(const std::vector<Watts>& all) {
  v1::CheckProgress progress;
  for (const Watts& one : all) {
    v1::Sample& sample = *progress.add_samples();
    sample.set_metric(checks::kPowerMetric);
    sample.set_variant(one.source);
    sample.set_value(one.watts);
    sample.set_at_s(one.at_s);
  }
  return progress;
}

// The same samples twice: the second confirms the first.
std::optional<double> TakeTwice(NodeWatts& node, const v1::CheckProgress& progress,
                                absl::Time now) {
  node.Take(progress, now);
  return node.Take(progress, now);
}

TEST(NodeWatts, OneWrongReadingDoesNotCount) {
  NodeWatts node(250);
  EXPECT_EQ(node.Take(Samples({{kPowerOfNode, 65'000}}), kWattsStart), std::nullopt);
  EXPECT_EQ(node.Take(Samples({{kPowerOfNode, 1600}}), kWattsStart + absl::Seconds(1)), 1600);
  EXPECT_EQ(node.Take(Samples({{kPowerOfNode, 65'000}}), kWattsStart + absl::Seconds(2)), 1600);
  EXPECT_EQ(node.Take(Samples({{kPowerOfNode, 1650}}), kWattsStart + absl::Seconds(3)), 1650);
  EXPECT_EQ(node.Take(Samples({{kPowerOfNode, 1700}}), kWattsStart + absl::Seconds(4)), 1650);
}

TEST(NodeWatts, WhatIsOldBearsNothingOut) {
  NodeWatts node(250);
  node.Take(Samples({{kPowerOfNode, 1600}}), kWattsStart);
  EXPECT_EQ(node.Take(Samples({{kPowerOfNode, 1600}}), kWattsStart + absl::Seconds(16)),
            std::nullopt);
}

TEST(NodeWatts, MeterIsTheWholeNode) {
  NodeWatts node(250);
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfGpus, 900}, {kPowerOfNode, 1610}}), kWattsStart),
            1610);
  // The meter's reading lasts until its next one.
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfGpus, 1000}}), kWattsStart + absl::Seconds(14)),
            std::nullopt);
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfNode, 1580}}), kWattsStart + absl::Seconds(14)),
            1580);
}

TEST(NodeWatts, MeterShowsWhatRanBeforeAtFirst) {
  NodeWatts node(250);
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfNode, 1600, 5}}), kWattsStart), std::nullopt);
  EXPECT_EQ(
      TakeTwice(node, Samples({{kPowerOfNode, 1600, 5}, {kPowerOfProcessors, 60, 5}}), kWattsStart),
      250);
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfNode, 700, 10}}), kWattsStart), 700);
}

// Without a meter: the sensors' readings, and the rest of the idle node.
TEST(NodeWatts, SensorsAndTheRestOfTheIdleNode) {
  NodeWatts node(300);
  // At rest: the idle draw itself, of which the sensors report 60 W and 40 W.
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfProcessors, 60}, {kPowerOfGpus, 40}}), kWattsStart),
            300);
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfProcessors, 250}, {kPowerOfGpus, 1000}}),
                      kWattsStart + absl::Seconds(1)),
            200 + 250 + 1000);
  // The newest sample of an update counts.
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfGpus, 5000}, {kPowerOfGpus, 900}}),
                      kWattsStart + absl::Seconds(2)),
            200 + 250 + 900);
  // A node that reports nothing any more is at rest again.
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfProcessors, 400}}), kWattsStart + absl::Seconds(9)),
            200 + 400 + 40);
}

TEST(NodeWatts, SensorsAreTheLeastThatANodeDraws) {
  NodeWatts node(50);
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfProcessors, 80}, {kPowerOfGpus, 60}}), kWattsStart),
            140);
}

TEST(NodeWatts, MeterThatFallsSilentIsReplaced) {
  NodeWatts node(300);
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfNode, 320}, {kPowerOfGpus, 100}}), kWattsStart), 320);
  EXPECT_EQ(TakeTwice(node, Samples({{kPowerOfGpus, 700}}), kWattsStart + absl::Seconds(15)), 900);
}

TEST(NodeWatts, WhatIsNoMeasurementIsLeftOut) {
  NodeWatts node(300);
  v1::CheckProgress progress = Samples({{"of the moon", 5},
                                        {kPowerOfNode, 1e7},
                                        {kPowerOfGpus, -3},
                                        {kPowerOfProcessors, 0.0 / 0.0}});
  v1::Sample& of_a_gpu = *progress.add_samples();
  of_a_gpu.set_metric(checks::kPowerMetric);
  of_a_gpu.set_subject("GPU-1");
  of_a_gpu.set_value(250);
  v1::Sample& temperature = *progress.add_samples();
  temperature.set_metric("temperature_celsius");
  temperature.set_value(60);
  EXPECT_EQ(TakeTwice(node, progress, kWattsStart), std::nullopt);
}

}  // namespace
}  // namespace muster::controller::validation
