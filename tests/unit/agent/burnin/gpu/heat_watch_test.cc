#include "agent/burnin/gpu/heat_watch.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

HeatWatch::Reading At(double seconds, std::optional<double> celsius,
                      std::optional<unsigned long long> reasons = std::nullopt) {
  return {absl::Seconds(seconds), celsius, reasons};
}

CheckResult ResultOf(const HeatWatch& watch) {
  CheckResult result;
  watch.AddFaults("GPU-0", result);
  return result;
}

TEST(HeatWatch, EndsTheTestWithTheFirstReadingAboveTheLimit) {
  HeatWatch watch(HeatLimit{88, "parameter max-temperature"});
  watch.Take(At(0, 60));
  watch.Take(At(12, 88));  // the limit itself is allowed
  EXPECT_FALSE(watch.must_end());
  EXPECT_THAT(ResultOf(watch).faults, IsEmpty());
  watch.Take(At(12.25, 89));
  EXPECT_TRUE(watch.must_end());
  watch.Take(At(12.5, 91));
  watch.Take(At(20, 70));
  EXPECT_TRUE(watch.must_end());
  const CheckResult result = ResultOf(watch);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "too_hot");
  EXPECT_EQ(result.faults[0].subject, "GPU-0");
  EXPECT_THAT(result.faults[0].message, Said());
}

TEST(HeatWatch, WithoutALimitOnlySlowdownsCount) {
  HeatWatch watch(std::nullopt);
  for (int i = 0; i < 20; ++i) watch.Take(At(0.25 * i, 120, 0));
  EXPECT_FALSE(watch.must_end());
  CheckResult result;
  watch.AddMetrics("GPU-0", result);
  ASSERT_THAT(result.metrics, SizeIs(1 + std::size(kSlowdowns)));
  EXPECT_EQ(result.metrics[0].value, 120);
}

TEST(HeatWatch, SlowdownOfASecondInAllEndsTheTest) {
  for (const unsigned long long bits : {nvml::kReasonHardwareThermal, nvml::kReasonPowerBrake}) {
    HeatWatch watch(std::nullopt);
    watch.Take(At(0, 80, bits));  // it is not known since when
    watch.Take(At(0.5, 80, bits));
    watch.Take(At(1, 80, nvml::kReasonSoftwarePowerCap));  // nobody's fault
    EXPECT_FALSE(watch.must_end());
    EXPECT_THAT(ResultOf(watch).faults, IsEmpty());
    watch.Take(At(1.5, 80, bits));
    EXPECT_TRUE(watch.must_end());
    const CheckResult result = ResultOf(watch);
    ASSERT_THAT(result.faults, SizeIs(1));
    EXPECT_EQ(result.faults[0].code,
              bits == nvml::kReasonPowerBrake ? "power_brake" : "thermal_throttle");
    EXPECT_THAT(result.faults[0].message, Said());
  }
}

// Neither heat nor the power supply is named: it used to pass, however long it lasted.
TEST(HeatWatch, HardwareSlowdownAloneIsAFaultWhenItLasts) {
  HeatWatch watch(std::nullopt);
  for (int i = 0; i <= 4; ++i) watch.Take(At(0.25 * i, 60, nvml::kReasonHardwareSlowdown));
  EXPECT_TRUE(watch.must_end());
  const CheckResult result = ResultOf(watch);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "hw_slowdown");
  EXPECT_THAT(result.faults[0].message, Said());
  // With its cause it is judged by that cause alone.
  HeatWatch hot(std::nullopt);
  for (int i = 0; i <= 4; ++i)
    hot.Take(At(0.25 * i, 90, nvml::kReasonHardwareSlowdown | nvml::kReasonHardwareThermal));
  ASSERT_THAT(ResultOf(hot).faults, SizeIs(1));
  EXPECT_EQ(ResultOf(hot).faults[0].code, "thermal_throttle");
}

TEST(HeatWatch, HardwareSlowdownForAMomentIsNone) {
  HeatWatch watch(std::nullopt);
  for (int i = 0; i < 100; ++i) watch.Take(At(0.25 * i, 60, i % 2 == 0 ? 0x8 : 0x0));
  EXPECT_FALSE(watch.must_end());
  EXPECT_THAT(ResultOf(watch).faults, IsEmpty());
}

CheckResult HeldFor(double seconds, const ThermalLimits& limits, const HeatWatch::Reading& held) {
  HeatWatch watch(std::nullopt, limits);
  HeatWatch::Reading reading = held;
  reading.reasons = nvml::kReasonSoftwareThermal;
  for (int i = 0; 0.5 * i <= seconds; ++i) {
    reading.at = absl::Seconds(0.5 * i);
    watch.Take(reading);
  }
  return ResultOf(watch);
}

// A GeForce card is held at its target of 84 °C by design, below its limit of 89 °C.
TEST(HeatWatch, CardThatIsHeldAtItsTargetTemperatureIsNotTooHot) {
  const ThermalLimits limits = {.gpu_celsius = 89};
  EXPECT_THAT(HeldFor(3600, limits, {.celsius = 84}).faults, IsEmpty());
  const CheckResult result = HeldFor(10, limits, {.celsius = 88});
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "thermal_throttle");
  EXPECT_THAT(result.faults[0].message, Said());
  EXPECT_THAT(HeldFor(9.5, limits, {.celsius = 88}).faults, IsEmpty());
  // Nothing tells how near its limit it is.
  EXPECT_THAT(HeldFor(10, {}, {.celsius = 84}).faults, SizeIs(1));
}

TEST(HeatWatch, MemoryAndMarginAreLimitsToo) {
  const ThermalLimits limits = {.gpu_celsius = 92, .memory_celsius = 95};
  EXPECT_THAT(HeldFor(10, limits, {.celsius = 60, .memory_celsius = 94}).faults, SizeIs(1));
  EXPECT_THAT(HeldFor(10, limits, {.celsius = 60, .memory_celsius = 80}).faults, IsEmpty());
  const ThermalLimits margin = {.least_margin = 0};
  EXPECT_THAT(HeldFor(10, margin, {.celsius = 84, .margin = 1}).faults, SizeIs(1));
  EXPECT_THAT(HeldFor(10, margin, {.celsius = 84, .margin = 20}).faults, IsEmpty());
}

TEST(HeatWatch, ModelThatOnlyTellsItsMarginEndsTheTestBelowTheLeast) {
  HeatWatch watch(std::nullopt, {.least_margin = 0});
  watch.Take({.at = absl::Seconds(1), .celsius = 70, .margin = 14});
  watch.Take({.at = absl::Seconds(2), .celsius = 84, .margin = 0});
  EXPECT_FALSE(watch.must_end());
  watch.Take({.at = absl::Seconds(3), .celsius = 86, .margin = -2});
  EXPECT_TRUE(watch.must_end());
  CheckResult result = ResultOf(watch);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "too_hot");
  EXPECT_THAT(result.faults[0].message, Said());
  watch.AddMetrics("GPU-0", result);
  ASSERT_THAT(result.metrics, SizeIs(2));
  EXPECT_EQ(result.metrics[1].name, "thermal_headroom_kelvin");
  EXPECT_EQ(result.metrics[1].value, -2);
}

TEST(HeatWatch, HotMemoryEndsTheTest) {
  HeatWatch watch(HeatLimit{88, "x"}, {.gpu_celsius = 88, .memory_celsius = 95});
  watch.Take({.at = absl::Seconds(1), .celsius = 60, .memory_celsius = 95});
  EXPECT_FALSE(watch.must_end());
  watch.Take({.at = absl::Seconds(2), .celsius = 61, .memory_celsius = 97});
  EXPECT_TRUE(watch.must_end());
  const CheckResult result = ResultOf(watch);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "too_hot");
  EXPECT_THAT(result.faults[0].message, Said());
}

TEST(HeatWatch, WhatIsNotToldIsNoMetric) {
  HeatWatch watch(HeatLimit{88, "x"});
  watch.Take(At(0, std::nullopt));
  watch.Take(At(1, std::nullopt));
  CheckResult result;
  watch.AddMetrics("GPU-0", result);
  EXPECT_THAT(result.metrics, IsEmpty());
  EXPECT_FALSE(watch.must_end());
}

struct Thresholds {
  const char* gpu;
  std::optional<double> celsius;
  const char* source;
};

TEST(DriverHeatLimit, TakesTheOperatingTemperatureThenTheSlowdown) {
  for (const Thresholds& row :
       {Thresholds{R"({"max_temperature":89,"slowdown_temperature":92})", 89, "operating"},
        Thresholds{R"({"slowdown_temperature":92})", 92, "slowdown"},
        Thresholds{R"({"max_temperature":255,"slowdown_temperature":7})", std::nullopt, ""},
        Thresholds{R"({})", std::nullopt, ""}}) {
    const NvidiaFile file(absl::StrCat(R"({"gpus":[)", row.gpu, "]}"));
    const std::unique_ptr<Nvml> nvml = Nvml::Load(FAKE_NVML).value();
    const std::optional<HeatLimit> limit =
        DriverHeatLimit(NvmlDevice(*nvml, nvml->DeviceAt(0).value()));
    ASSERT_EQ(limit.has_value(), row.celsius.has_value()) << row.gpu;
    if (!limit.has_value()) continue;
    EXPECT_EQ(limit->celsius, *row.celsius);
    EXPECT_THAT(limit->source, HasSubstr(row.source));
  }
}

// An H100 that rests and yet reports no margin reports nothing.
TEST(ReadThermalLimits, MarginThatIsImpossibleAtRestIsLeftOut) {
  const NvidiaFile file(R"({"gpus":[
      {"preset":"h100","least_margin":0,"idle":{"margin":50},"busy":{"margin":50}},
      {"preset":"h100","least_margin":0,"idle":{"margin":-5},"busy":{"margin":-5}},
      {"preset":"v100","max_temperature":83,"memory_max_temperature":85}]})");
  const std::unique_ptr<Nvml> nvml = Nvml::Load(FAKE_NVML).value();
  const auto limits = [&](unsigned i) {
    return ReadThermalLimits(NvmlDevice(*nvml, nvml->DeviceAt(i).value()));
  };
  EXPECT_EQ(limits(0).least_margin, 0);
  EXPECT_EQ(limits(1).least_margin, std::nullopt);
  EXPECT_EQ(limits(2).least_margin, std::nullopt);
  EXPECT_EQ(limits(2).gpu_celsius, 83);
  EXPECT_EQ(limits(2).memory_celsius, 85);
}

}  // namespace
}  // namespace muster::burnin
