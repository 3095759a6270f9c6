#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

constexpr char kRestart[] = "munge/handler/restart munge";

v1::RolePlan Munge(const std::string& key) {
  return Role("munge", {File("munge/key", "/key", key, {kRestart}), File("munge/b", "/b", "1")}, {},
              {Command(kRestart, "restart")});
}

TEST_F(EngineTest, AHandlerRunsOnceAfterAChangeAndNotWithoutOne) {
  EXPECT_TRUE(Run(MakePlan(1, {Munge("1")})).succeeded());
  EXPECT_EQ(node_.CommandRuns("restart"), 1);
  const v1::StepResult result = Results("r-1/0")[kRestart];
  EXPECT_TRUE(result.handler());
  EXPECT_EQ(result.status(), v1::STEP_STATUS_CHANGED);
  EXPECT_TRUE(Run(MakePlan(2, {Munge("1")})).succeeded());
  EXPECT_EQ(node_.CommandRuns("restart"), 1);
  EXPECT_EQ(Results("r-2/0").count(kRestart), 0u);
}

TEST_F(EngineTest, AHandlerOfAFailedRoleRunsNextTimeThoughNothingChangesThen) {
  node_.apply_errors["file[/b]"] = absl::InternalError("no");
  EXPECT_FALSE(Run(MakePlan(1, {Munge("1")})).succeeded());
  EXPECT_EQ(node_.CommandRuns("restart"), 0);
  EXPECT_EQ(Results("r-1/0")[kRestart].message(), "role failed; will run next time");
  node_.apply_errors.clear();
  node_.Set("/b", "1");
  Start();
  EXPECT_TRUE(Run(MakePlan(2, {Munge("1")})).succeeded());
  EXPECT_EQ(StatusOf(MakePlan(2, {}), "munge/key"), v1::STEP_STATUS_OK);
  EXPECT_EQ(node_.CommandRuns("restart"), 1);
}

TEST_F(EngineTest, AFailedStepStillNotifiesBecauseItMayHaveChangedSomething) {
  node_.apply_errors["file[/key]"] = absl::InternalError("half-way");
  EXPECT_FALSE(Run(MakePlan(1, {Munge("1")})).succeeded());
  EXPECT_TRUE(journal_->IsDirty(kRestart));
}

TEST_F(EngineTest, AFailedHandlerFailsItsRoleAndStaysDirty) {
  node_.apply_errors["command[restart]"] = absl::InternalError("unit is broken");
  const v1::PlanOutcome outcome = Run(MakePlan(1, {Munge("1")}));
  EXPECT_FALSE(outcome.succeeded());
  EXPECT_EQ(outcome.message(), "role munge failed at handler 'munge/handler/restart munge'");
  EXPECT_TRUE(journal_->IsDirty(kRestart));
  node_.apply_errors.clear();
  EXPECT_TRUE(Run(MakePlan(2, {Munge("1")})).succeeded());
  EXPECT_EQ(node_.CommandRuns("restart"), 1);
  EXPECT_FALSE(journal_->IsDirty(kRestart));
}

TEST_F(EngineTest, AHandlerThatDoesNotApplyIsSkippedOnceAndNoLongerDue) {
  v1::RolePlan role = Munge("1");
  role.mutable_handlers(0)->clear_command();
  role.mutable_handlers(0)->set_skip_reason("when: is false");
  EXPECT_TRUE(Run(MakePlan(1, {role})).succeeded());
  EXPECT_EQ(Results("r-1/0")[kRestart].status(), v1::STEP_STATUS_SKIPPED);
  EXPECT_FALSE(journal_->IsDirty(kRestart));
  EXPECT_EQ(node_.CommandRuns("restart"), 0);
}

}  // namespace
}  // namespace muster::agent
