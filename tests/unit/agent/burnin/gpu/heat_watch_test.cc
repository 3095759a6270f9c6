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
  ASSERT_THAT(result.metrics, SizeIs(3));
  EXPECT_EQ(result.metrics[0].value, 120);
}

TEST(HeatWatch, SlowdownOfASecondInAllEndsTheTest) {
  for (const Slowdown& slowdown : kSlowdowns) {
    HeatWatch watch(std::nullopt);
    watch.Take(At(0, 80, slowdown.bits));  // it is not known since when
    watch.Take(At(0.5, 80, slowdown.bits));
    watch.Take(At(1, 80, nvml::kReasonSoftwarePowerCap));  // nobody's fault
    EXPECT_FALSE(watch.must_end());
    EXPECT_THAT(ResultOf(watch).faults, IsEmpty());
    watch.Take(At(1.5, 80, slowdown.bits));
    EXPECT_TRUE(watch.must_end());
    const CheckResult result = ResultOf(watch);
    ASSERT_THAT(result.faults, SizeIs(1));
    EXPECT_EQ(result.faults[0].code, slowdown.fault);
    EXPECT_THAT(result.faults[0].message, Said());
  }
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

}  // namespace
}  // namespace muster::burnin
