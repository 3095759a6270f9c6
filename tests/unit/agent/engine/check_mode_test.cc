#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

v1::Plan CheckOnly(v1::Plan plan) {
  plan.set_check_only(true);
  plan.set_want_diff(true);
  return plan;
}

TEST_F(EngineTest, CheckModePredictsAndNeverApplies) {
  node_.Set("/b", "1");
  const v1::Plan plan = CheckOnly(MakePlan(
      1, {Role("r", {File("r/a", "/a", "1", {"r/handler/h"}), File("r/b", "/b", "1")}, {},
               {Command("r/handler/h", "h")})}));
  EXPECT_TRUE(Run(plan).succeeded());
  auto results = Results(plan.plan_id());
  EXPECT_EQ(results["r/a"].status(), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(results["r/a"].changes(0).diff(), "-a\n+b\n");
  EXPECT_EQ(results["r/b"].status(), v1::STEP_STATUS_OK);
  EXPECT_EQ(results["r/handler/h"].status(), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(node_.applies, 0);
  EXPECT_FALSE(journal_->IsDirty("r/handler/h"));
  EXPECT_EQ(node_.state().size(), 1u);
}

TEST_F(EngineTest, CheckModeForeseesWhatAnEarlierStepWouldBring) {
  node_.requires_key["file[/b]"] = "munge";
  const v1::Plan plan = CheckOnly(MakePlan(1, {Role("p", {Package("p/munge", {"munge"})}),
                                               Role("q", {File("q/b", "/b", "1")}, {"p"})}));
  EXPECT_TRUE(Run(plan).succeeded());
  const v1::StepResult result = Results(plan.plan_id())["q/b"];
  EXPECT_EQ(result.status(), v1::STEP_STATUS_CHANGED);
  ASSERT_EQ(result.changes_size(), 1);
  EXPECT_EQ(result.changes(0).after(), "will change (after 'p/munge')");
}

TEST_F(EngineTest, CheckModeFailsWhereNothingWouldBringWhatIsMissing) {
  node_.requires_key["file[/b]"] = "munge";
  const v1::Plan plan = CheckOnly(MakePlan(1, {Role("q", {File("q/b", "/b", "1")})}));
  EXPECT_FALSE(Run(plan).succeeded());
  EXPECT_EQ(Results(plan.plan_id())["q/b"].message(), "file[/b]: there is no munge");
}

TEST_F(EngineTest, CheckModeShowsAHandlerLeftDirtyAndLeavesItSo) {
  node_.apply_errors["command[h]"] = absl::InternalError("no");
  const auto role = [] {
    return Role("r", {File("r/a", "/a", "1", {"r/handler/h"})}, {}, {Command("r/handler/h", "h")});
  };
  Run(MakePlan(1, {role()}));
  const v1::Plan check = CheckOnly(MakePlan(2, {role()}));
  EXPECT_TRUE(Run(check).succeeded());
  EXPECT_EQ(StatusOf(check, "r/handler/h"), v1::STEP_STATUS_CHANGED);
  EXPECT_TRUE(journal_->IsDirty("r/handler/h"));
}

}  // namespace
}  // namespace muster::agent
