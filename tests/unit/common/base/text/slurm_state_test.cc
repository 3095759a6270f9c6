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

}  // namespace
}  // namespace muster
