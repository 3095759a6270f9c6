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

v1::Step Unit(const std::string& id, v1::UnitState state) {
  v1::Step step;
  step.set_step_id(id);
  step.mutable_unit()->set_name("slurmd.service");
  step.mutable_unit()->set_state(state);
  return step;
}

constexpr char kRestartSlurmd[] = "slurmd/handler/restart slurmd";

v1::RolePlan Slurmd(const std::string& before, const std::string& after) {
  return Role("slurmd",
              {File("slurmd/before", "/before", before, {kRestartSlurmd}),
               Unit("slurmd/runs", v1::UNIT_STATE_STARTED),
               File("slurmd/after", "/after", after, {kRestartSlurmd})},
              {}, {Unit(kRestartSlurmd, v1::UNIT_STATE_RESTARTED)});
}

TEST_F(EngineTest, AUnitThatHasStartedAfterTheChangeIsNotRestarted) {
  node_.Set("/after", "1");
  EXPECT_TRUE(Run(MakePlan(1, {Slurmd("1", "1")})).succeeded());
  EXPECT_EQ(node_.state().at("slurmd.service"), "active");
  EXPECT_EQ(node_.CommandRuns("slurmd.service"), 0);
  const v1::StepResult result = Results("r-1/0")[kRestartSlurmd];
  EXPECT_EQ(result.status(), v1::STEP_STATUS_OK);
  EXPECT_EQ(result.message(), "slurmd.service has started since the change");
  EXPECT_FALSE(journal_->IsDirty(kRestartSlurmd));
  // It runs already.
  EXPECT_TRUE(Run(MakePlan(2, {Slurmd("2", "1")})).succeeded());
  EXPECT_EQ(node_.CommandRuns("slurmd.service"), 1);
}

TEST_F(EngineTest, AUnitThatItsPackageStartsAfterTheChangeIsNotRestarted) {
  node_.during_apply["package[slurmd]"] = [this](ApplyObserver&) {
    node_.Set("slurmd.service", "active");
  };
  v1::RolePlan role = Slurmd("1", "");
  *role.mutable_steps(1) = Package("slurmd/package", {"slurmd"});
  EXPECT_TRUE(Run(MakePlan(1, {role})).succeeded());
  EXPECT_EQ(node_.CommandRuns("slurmd.service"), 0);
  EXPECT_EQ(Results("r-1/0")[kRestartSlurmd].status(), v1::STEP_STATUS_OK);
}

TEST_F(EngineTest, AUnitThatNothingHasStartedIsRestarted) {
  v1::RolePlan role = Slurmd("1", "1");
  role.mutable_steps()->DeleteSubrange(1, 1);
  EXPECT_TRUE(Run(MakePlan(1, {role})).succeeded());
  EXPECT_EQ(node_.CommandRuns("slurmd.service"), 1);
}

TEST_F(EngineTest, AnEarlierPlansRestartIsNotForgotten) {
  node_.Set("/after", "1");
  node_.apply_errors["unit[slurmd.service]"] = absl::InternalError("no");
  EXPECT_FALSE(Run(MakePlan(1, {Slurmd("1", "1")})).succeeded());
  node_.apply_errors.clear();
  node_.Set("slurmd.service", "active");
  EXPECT_TRUE(Run(MakePlan(2, {Slurmd("1", "1")})).succeeded());
  EXPECT_EQ(node_.CommandRuns("slurmd.service"), 1);
}

TEST_F(EngineTest, AUnitThatHasStartedBeforeTheChangeIsRestarted) {
  EXPECT_TRUE(Run(MakePlan(1, {Slurmd("1", "1")})).succeeded());
  EXPECT_EQ(node_.CommandRuns("slurmd.service"), 1);
}

TEST_F(EngineTest, AUnitThatWasAboutToStartIsRestarted) {
  node_.Set("/after", "1");
  node_.Set("slurmd.service", "activating");
  EXPECT_TRUE(Run(MakePlan(1, {Slurmd("1", "1")})).succeeded());
  EXPECT_EQ(node_.CommandRuns("slurmd.service"), 1);
}

}  // namespace
}  // namespace muster::agent
