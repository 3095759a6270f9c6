#include "agent/burnin/gpu/clock_watch.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr ClockLimits kLimits = {.sm = {.highest = 1980, .application = 1500},
                                 .memory = {.highest = 2619, .application = 2619}};

std::vector<Fault> FaultsOf(const ClockWatch::Reading& reading, size_t readings = 40,
                            const ClockLimits& limits = kLimits) {
  ClockWatch watch(limits);
  for (size_t i = 0; i < readings; ++i) watch.Take(reading);
  CheckResult result;
  watch.AddFaults("GPU-0", result);
  return result.faults;
}

TEST(ClockWatch, LockedClocksAreAFault) {
  const auto faults = FaultsOf({.sm_mhz = 300, .memory_mhz = 2619, .reasons = 0});
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].code, "clock_low");
  EXPECT_EQ(faults[0].subject, "GPU-0");
  EXPECT_THAT(faults[0].message, Said());
  EXPECT_THAT(faults[0].message, Said());
  const auto memory = FaultsOf({.sm_mhz = 1700, .memory_mhz = 405, .reasons = 0});
  ASSERT_THAT(memory, SizeIs(1));
  EXPECT_THAT(memory[0].message, Said());
}

TEST(ClockWatch, WhatNamesItsReasonOrRestsIsNone) {
  for (const unsigned long long reasons : {0x1, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x1000})
    EXPECT_THAT(FaultsOf({.sm_mhz = 300, .memory_mhz = 405, .reasons = reasons}), IsEmpty())
        << reasons;
  EXPECT_THAT(FaultsOf({.sm_mhz = 300, .memory_mhz = 405, .reasons = std::nullopt}), IsEmpty());
}

// The same reading is right if the application clock is low, and wrong if it is not.
TEST(ClockWatch, ApplicationClocksExplainWhatTheyAllow) {
  const ClockWatch::Reading reading = {.sm_mhz = 700, .memory_mhz = 2619, .reasons = 0x2};
  EXPECT_THAT(FaultsOf(reading), SizeIs(1));
  ClockLimits low = kLimits;
  low.sm.application = 800;
  EXPECT_THAT(FaultsOf(reading, 40, low), IsEmpty());
  ClockLimits none = kLimits;
  none.sm.application.reset();
  EXPECT_THAT(FaultsOf(reading, 40, none), SizeIs(1));
}

TEST(ClockWatch, HalfOfTheHighestClockIsEnough) {
  EXPECT_THAT(FaultsOf({.sm_mhz = 990, .memory_mhz = 1310, .reasons = 0}), IsEmpty());
}

TEST(ClockWatch, WithoutLimitsOrForAMomentNothingIsSaid) {
  const ClockWatch::Reading low = {.sm_mhz = 300, .memory_mhz = 405, .reasons = 0};
  EXPECT_THAT(FaultsOf(low, 40, {}), IsEmpty());
  EXPECT_THAT(FaultsOf(low, ClockWatch::kFewestReadings - 1), IsEmpty());
  // While clocks rise and fall.
  ClockWatch watch(kLimits);
  for (int i = 0; i < 40; ++i)
    watch.Take({.sm_mhz = i % 2 == 0 ? 300 : 1900, .memory_mhz = 2619, .reasons = 0});
  CheckResult result;
  watch.AddFaults("GPU-0", result);
  EXPECT_THAT(result.faults, IsEmpty());
}

}  // namespace
}  // namespace muster::burnin
