#include "agent/sys/lost_bus.h"

#include <cerrno>

#include <gmock/gmock.h>

namespace muster::agent {
namespace {

TEST(LostBus, KnowsALostConnectionByItsError) {
  for (const int error : {ECONNRESET, ECONNABORTED, ENOTCONN, EPIPE, ESHUTDOWN})
    EXPECT_TRUE(IsLostConnection(error)) << error;
  for (const int error : {ETIMEDOUT, EACCES, ENOENT, EINVAL, EIO})
    EXPECT_FALSE(IsLostConnection(error)) << error;
}

TEST(LostBus, JudgesAJobByTheStateThatItLeft) {
  const UnitStatus runs = {.active_state = "active", .sub_state = "running"};
  const UnitStatus failed = {.active_state = "failed", .sub_state = "failed"};
  const UnitStatus dead = {.active_state = "inactive", .sub_state = "dead"};
  const UnitStatus has_run = {
      .active_state = "inactive", .sub_state = "dead", .ends_by_itself = true, .ended_well = true};
  const UnitStatus never_ran = {
      .active_state = "inactive", .sub_state = "dead", .ends_by_itself = true};
  const UnitStatus skipped = {
      .active_state = "inactive", .sub_state = "dead", .conditions_held = false};
  const struct {
    UnitJob job;
    const UnitStatus& status;
    const char* failure;
  } kRows[] = {
      {UnitJob::kStart, runs, ""},
      {UnitJob::kStart, has_run, ""},
      {UnitJob::kStart, skipped, ""},
      {UnitJob::kStart, never_ran, "it is inactive (dead)"},
      {UnitJob::kRestart, failed, "it failed"},
      {UnitJob::kRestart, dead, "it is inactive (dead)"},
      {UnitJob::kReloadOrRestart, runs, ""},
      {UnitJob::kStop, dead, ""},
      {UnitJob::kStop, failed, ""},
      {UnitJob::kStop, runs, "it is active (running)"},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(FailureInState(row.job, row.status), row.failure)
        << static_cast<int>(row.job) << " " << row.status.active_state;
}

}  // namespace
}  // namespace muster::agent
