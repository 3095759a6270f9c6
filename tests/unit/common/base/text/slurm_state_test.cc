#include "common/base/text/slurm_state.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(SlurmState, TellsWhoIsDownAndWhoIsSilent) {
  const struct {
    const char* state;
    bool is_down, is_silent;
  } kRows[] = {
      {"IDLE", false, false},       {"IDLE*", false, true},
      {"IDLE+DRAIN", false, false}, {"IDLE*+DRAIN", false, true},
      {"DOWN", true, false},        {"DOWN+DRAIN", true, false},
      {"DOWN*+DRAIN", true, true},  {"DOWN+DRAIN+NOT_RESPONDING", true, true},
      {"UNKNOWN*", false, true},    {"", false, false},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(IsDownInSlurm(row.state), row.is_down) << row.state;
    EXPECT_EQ(IsSilentInSlurm(row.state), row.is_silent) << row.state;
  }
}

TEST(SlurmState, TellsWhereNoJobStarts) {
  const struct {
    const char* state;
    bool is_drained, is_out;
  } kRows[] = {
      {"IDLE", false, false},
      {"MIXED+DRAIN", true, false},
      {"DOWN*+DRAIN", true, true},
      {"IDLE+DRAIN+INVALID_REG", true, true},
      {"IDLE+INVALID_REG", false, true},
      {"FAIL", false, true},
      {"UNKNOWN*", false, true},
      {"FUTURE", false, true},
      {"IDLE+CLOUD+POWERED_DOWN", false, false},
      {"", false, false},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(IsDrainedInSlurm(row.state), row.is_drained) << row.state;
    EXPECT_EQ(IsOutInSlurm(row.state), row.is_out) << row.state;
  }
}

TEST(SlurmState, TellsWhatPowerSavingHas) {
  const struct {
    const char* state;
    bool is_saved, is_for_job;
  } kRows[] = {
      {"IDLE", false, false},
      {"IDLE+POWERED_DOWN", true, false},
      {"IDLE+POWERING_DOWN", true, false},
      {"IDLE+CLOUD+POWERING_UP", true, false},
      {"ALLOCATED", false, false},
      {"ALLOCATED+POWER_DOWN", true, false},
      {"ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", true, true},
      {"MIXED*+POWERING_UP", true, true},
      {"ALLOCATED+POWERED_DOWN", true, true},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(IsPowerSavedInSlurm(row.state), row.is_saved) << row.state;
    EXPECT_EQ(IsPoweringUpForJobInSlurm(row.state), row.is_for_job) << row.state;
  }
}

}  // namespace
}  // namespace muster
