#include "agent/burnin/gpu/telemetry.h"

#include <algorithm>
#include <regex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/burnin/gpu/clock_reasons.h"
#include "common/base/clock.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/agent/burnin/gpu/recording_reporter.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::muster::testing::Said;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Gpus OneGpu() {
  Gpus gpus;
  gpus.nvml = Nvml::Load(FAKE_NVML).value();
  gpus.chosen.push_back({.index = 0,
                         .uuid = "GPU-0",
                         .nvml = NvmlDevice(*gpus.nvml, gpus.nvml->DeviceAt(0).value())});
  return gpus;
}

double MetricOf(const CheckResult& result, const std::string& name) {
  const auto found = std::find_if(result.metrics.begin(), result.metrics.end(),
                                  [&name](const Metric& metric) { return metric.name == name; });
  return found != result.metrics.end() ? found->value : -1;
}

// Both conditions are equal: the fake's GPU may count as busy because of an earlier test.
std::string Always(const std::string& condition) {
  return R"({"gpus":[{"idle":)" + condition + R"(,"busy":)" + condition + "}]}";
}

CheckResult Watch(RecordingReporter& reporter, absl::Duration duration) {
  RealClock clock;
  Telemetry telemetry(OneGpu(), reporter, clock, clock.Now());
  {
    const UnderLoad load(telemetry, 0);
    clock.Sleep(duration);
  }
  CheckResult result;
  telemetry.Finish(result);
  return result;
}

TEST(Telemetry, SamplesFourTimesASecondAndSumsUp) {
  const NvidiaFile file(Always(R"({"temperature":61,"power_watts":200,"sm_clock_mhz":1800})"));
  RecordingReporter reporter;
  const CheckResult result = Watch(reporter, absl::Milliseconds(1900));
  EXPECT_EQ(MetricOf(result, "temperature_max_celsius"), 61);
  EXPECT_EQ(MetricOf(result, "power_mean_watts"), 200);
  EXPECT_EQ(MetricOf(result, "power_median_watts"), 200);
  EXPECT_EQ(MetricOf(result, "sm_clock_median_mhz"), 1800);
  EXPECT_EQ(MetricOf(result, "throttle_seconds"), 0);
  EXPECT_THAT(result.faults, IsEmpty());
  EXPECT_GE(reporter.samples().size(), 6u);
  EXPECT_EQ(reporter.samples()[0].subject, "GPU-0");
}

// Making a context, compiling kernels and allocating memory draw little.
TEST(Telemetry, PowerAndClocksAreThoseOfTheTimeUnderLoad) {
  NvidiaFile file(Always(R"({"temperature":40,"power_watts":50,"sm_clock_mhz":300})"));
  RecordingReporter reporter;
  RealClock clock;
  Telemetry telemetry(OneGpu(), reporter, clock, clock.Now());
  clock.Sleep(absl::Milliseconds(700));
  file.Write(Always(R"({"temperature":61,"power_watts":200,"sm_clock_mhz":1800})"));
  {
    const UnderLoad load(telemetry, 0);
    clock.Sleep(absl::Milliseconds(1900));
  }
  file.Write(Always(R"({"temperature":50,"power_watts":70,"sm_clock_mhz":600})"));
  clock.Sleep(absl::Milliseconds(700));
  CheckResult result;
  telemetry.Finish(result);
  EXPECT_EQ(MetricOf(result, "power_mean_watts"), 200);
  EXPECT_EQ(MetricOf(result, "power_median_watts"), 200);
  EXPECT_EQ(MetricOf(result, "sm_clock_median_mhz"), 1800);
  EXPECT_EQ(MetricOf(result, "temperature_max_celsius"), 61);
}

TEST(Telemetry, CheckThatNeverLoadedTellsNeitherPowerNorClocks) {
  const NvidiaFile file(Always(R"({"temperature":61,"power_watts":200,"sm_clock_mhz":1800})"));
  RecordingReporter reporter;
  RealClock clock;
  Telemetry telemetry(OneGpu(), reporter, clock, clock.Now());
  clock.Sleep(absl::Milliseconds(600));
  CheckResult result;
  telemetry.Finish(result);
  EXPECT_EQ(MetricOf(result, "power_mean_watts"), -1);
  EXPECT_EQ(MetricOf(result, "sm_clock_median_mhz"), -1);
  EXPECT_EQ(MetricOf(result, "temperature_max_celsius"), 61);
}

TEST(Telemetry, HardwareThatSlowsDownIsAFault) {
  const NvidiaFile file(Always(R"({"temperature":93,"clock_reasons":64})"));
  RecordingReporter reporter;
  const CheckResult result = Watch(reporter, absl::Milliseconds(1700));
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "thermal_throttle");
  // How long it was depends on what else this machine does.
  EXPECT_THAT(std::regex_replace(result.faults[0].message, std::regex("for [0-9.]+ s"), "for N s"),
              Said());
  EXPECT_GE(MetricOf(result, "throttle_seconds"), 1);
}

TEST(Telemetry, OneGpuThatIsTooHotEndsAndTheOthersGoOn) {
  const NvidiaFile file(R"({"gpus":[{"idle":{"temperature":91},"busy":{"temperature":91}},
                                    {"idle":{"temperature":70},"busy":{"temperature":70}}]})");
  Gpus gpus = OneGpu();
  gpus.chosen.push_back({.index = 1,
                         .uuid = "GPU-1",
                         .nvml = NvmlDevice(*gpus.nvml, gpus.nvml->DeviceAt(1).value())});
  for (Gpu& gpu : gpus.chosen) gpu.heat_limit = HeatLimit{90, "the room"};
  RecordingReporter reporter;
  RealClock clock;
  Telemetry telemetry(gpus, reporter, clock, clock.Now());
  const absl::Time give_up = clock.Now() + absl::Seconds(20);
  while (!telemetry.MustEnd(0) && clock.Now() < give_up) clock.Sleep(absl::Milliseconds(5));
  EXPECT_TRUE(telemetry.MustEnd(0));
  EXPECT_FALSE(telemetry.MustEnd(1));
  EXPECT_FALSE(telemetry.IsFirstAtWork(0));
  EXPECT_TRUE(telemetry.IsFirstAtWork(1));
  CheckResult result;
  telemetry.FinishWithoutMetrics(result);
  EXPECT_THAT(result.metrics, IsEmpty());
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "too_hot");
  EXPECT_EQ(result.faults[0].subject, "GPU-0");
}

TEST(Telemetry, WhatIsNotToldIsNoMetric) {
  const NvidiaFile file(R"({"gpus":[{"not_supported":["nvmlDeviceGetPowerUsage",
      "nvmlDeviceGetCurrentClocksThrottleReasons"]}]})");
  RecordingReporter reporter;
  const CheckResult result = Watch(reporter, absl::Milliseconds(300));
  EXPECT_EQ(MetricOf(result, "power_mean_watts"), -1);
  EXPECT_EQ(MetricOf(result, "throttle_seconds"), -1);
  EXPECT_GE(MetricOf(result, "temperature_max_celsius"), 0);
}

TEST(Telemetry, DriverThatHangsIsAFaultAndHoldsNobodyUp) {
  const NvidiaFile file(R"({"gpus":[{"hang":["nvmlDeviceGetPowerUsage"]}]})");
  // A hanging thread outlives the test, and so must everything that it uses.
  static auto* const reporter = new RecordingReporter;
  static auto* const clock = new muster::testing::FakeClock;
  Telemetry telemetry(OneGpu(), *reporter, *clock, clock->Now());
  RealClock().Sleep(absl::Milliseconds(200));
  std::thread later([] {
    RealClock().Sleep(absl::Milliseconds(200));
    clock->Advance(absl::Seconds(20));
  });
  CheckResult result;
  telemetry.Finish(result);
  later.join();
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "driver_hangs");
  EXPECT_EQ(result.faults[0].subject, "GPU-0");
}

TEST(ClockReasons, HaveNames) {
  EXPECT_EQ(ClockReasonNames(0), "");
  EXPECT_EQ(ClockReasonNames(0x44), "sw_power_cap, hw_thermal");
  EXPECT_EQ(ClockReasonNames(0x1000), "0x1000");
}

}  // namespace
}  // namespace muster::burnin
