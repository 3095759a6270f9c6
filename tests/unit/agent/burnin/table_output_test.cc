#include "agent/burnin/table_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::burnin {
namespace {

using ::testing::HasSubstr;

TEST(TableOutput, ShowsGpusByTheirNumber) {
  FinishedCheck finished = {.check = "gpu-inventory", .duration = absl::Seconds(2)};
  finished.result.subjects = {
      {.id = "GPU-1", .kind = "gpu", .model = "RTX", .slot = "0000:3b:00.0", .index = 7}};
  finished.result.metrics = {
      {.name = "power_limit_watts", .subject = "GPU-1", .unit = "W", .value = 250.5}};
  finished.result.outcome = Outcome::kFail;
  finished.result.reason = "it is hot";
  AddFault(finished.result, "thermal_throttle", "GPU-1", "hot", {"93 °C"});
  EXPECT_EQ(ResultTable(finished),
            "gpu-inventory: FAIL: it is hot (2.0 s)\n"
            "subjects:\n"
            "  gpu 7 RTX 0000:3b:00.0 GPU-1\n"
            "measured:\n"
            "  power_limit_watts  gpu 7 250.5 W\n"
            "faults:\n"
            "  thermal_throttle gpu 7: hot\n"
            "    93 °C\n");
}

TEST(TableOutput, LiveLineHasFractionPhaseAndNewestValues) {
  EXPECT_THAT(LiveLine({.phase = "copying", .fraction = 0.5}, {{"gbytes_per_s", 12.25}}),
              HasSubstr("50%  copying  gbytes_per_s 12.25"));
}

}  // namespace
}  // namespace muster::burnin
