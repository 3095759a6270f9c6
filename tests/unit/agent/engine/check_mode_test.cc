#include "agent/resources/missing.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;

v1::Plan CheckOnly(v1::Plan plan) {
  plan.set_check_only(true);
  plan.set_want_diff(true);
  return plan;
}

TEST_F(EngineTest, CheckModePredictsAndNeverApplies) {
  node_.Set("/b", "1");
  const v1::Plan plan = CheckOnly(
      MakePlan(1, {Role("r", {File("r/a", "/a", "1", {"r/handler/h"}), File("r/b", "/b", "1")}, {},
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
  const v1::Plan plan = CheckOnly(MakePlan(
      1, {Role("p", {Package("p/munge", {"munge"})}), Role("q", {File("q/b", "/b", "1")}, {"p"})}));
  EXPECT_TRUE(Run(plan).succeeded());
  const v1::StepResult result = Results(plan.plan_id())["q/b"];
  EXPECT_EQ(result.status(), v1::STEP_STATUS_CHANGED);
  ASSERT_EQ(result.changes_size(), 1);
  EXPECT_EQ(result.changes(0).after(), "will change (after 'p/munge')");
}

TEST_F(EngineTest, CheckModeForeseesWhatAnEarlierPlayWouldBring) {
  node_.requires_key["file[/b]"] = "munge";
  v1::Plan plan = CheckOnly(MakePlan(1, {Role("q", {File("q/b", "/b", "1")})}));
  plan.set_after_changes(true);
  EXPECT_TRUE(Run(plan).succeeded());
  const v1::StepResult result = Results(plan.plan_id())["q/b"];
  EXPECT_EQ(result.resource(), "file[/b]");
  ASSERT_EQ(result.changes_size(), 1);
  EXPECT_EQ(result.changes(0).after(), "will change (after an earlier play)");
}

TEST_F(EngineTest, CheckModeDoesNotRelyOnARoleThatMayComeLater) {
  node_.requires_key["file[/b]"] = "munge";
  const v1::Plan plan = CheckOnly(MakePlan(
      1, {Role("p", {Package("p/munge", {"munge"})}), Role("q", {File("q/b", "/b", "1")})}));
  EXPECT_FALSE(Run(plan).succeeded());
  EXPECT_EQ(StatusOf(plan, "q/b"), v1::STEP_STATUS_FAILED);
}

TEST_F(EngineTest, StepThatWasPlannedUnchangedFailsBeforeItActs) {
  node_.Set("/a", "1");
  v1::Step kept = File("r/a", "/a", "1", {"r/handler/h"}), moved = File("r/b", "/b", "1");
  v1::Step planned = File("r/c", "/c", "1");
  kept.set_expect_unchanged(true);
  moved.set_expect_unchanged(true);
  const v1::Plan plan =
      MakePlan(1, {Role("r", {kept, planned, moved}, {}, {Command("r/handler/h", "h")})});
  EXPECT_FALSE(Run(plan).succeeded());
  auto results = Results(plan.plan_id());
  EXPECT_EQ(results["r/a"].status(), v1::STEP_STATUS_OK);
  EXPECT_EQ(results["r/c"].status(), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(results["r/b"].status(), v1::STEP_STATUS_FAILED);
  EXPECT_THAT(results["r/b"].message(), Said());
  EXPECT_EQ(results["r/b"].changes_size(), 1);
  EXPECT_EQ(node_.state().count("/b"), 0u);
  EXPECT_EQ(node_.applies, 1);
}

TEST_F(EngineTest, StepThatWasPlannedUnchangedJoinsNoTransaction) {
  v1::Step planned = Package("r/a", {"a"}), moved = Package("r/b", {"b"});
  moved.set_expect_unchanged(true);
  const v1::Plan plan = MakePlan(1, {Role("r", {planned, moved})});
  EXPECT_FALSE(Run(plan).succeeded());
  EXPECT_EQ(StatusOf(plan, "r/a"), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(StatusOf(plan, "r/b"), v1::STEP_STATUS_FAILED);
  EXPECT_EQ(node_.state().count("b"), 0u);
}

// The first apply changes nearly everything, and most of it provides no folder.
TEST_F(EngineTest, CheckModeWaitsOnlyForStepsThatCanBringWhatIsMissing) {
  node_.check_errors["file[/etc/slurm/x]"] =
      MissingPath("/etc/slurm", "the directory /etc/slurm does not exist");
  node_.check_errors["package[no-such-tool]"] = MissingPackages("'no-such-tool' does not exist");
  const v1::Plan alone = CheckOnly(MakePlan(
      1, {Role("r", {File("r/motd", "/etc/motd", "1"), File("r/x", "/etc/slurm/x", "1")})}));
  EXPECT_FALSE(Run(alone).succeeded());
  EXPECT_EQ(Results(alone.plan_id())["r/x"].message(), "the directory /etc/slurm does not exist");
  const v1::Plan brought = CheckOnly(MakePlan(
      2, {Role("r", {Package("r/slurmd", {"slurmd"}), File("r/x", "/etc/slurm/x", "1")})}));
  EXPECT_TRUE(Run(brought).succeeded());
  EXPECT_EQ(Results(brought.plan_id())["r/x"].changes(0).after(), "will change (after 'r/slurmd')");
  const v1::Plan unknown = CheckOnly(MakePlan(
      3, {Role("r", {Package("r/slurmd", {"slurmd"}), Package("r/tool", {"no-such-tool"})})}));
  EXPECT_FALSE(Run(unknown).succeeded());
  EXPECT_EQ(Results(unknown.plan_id())["r/tool"].message(), "'no-such-tool' does not exist");
  const v1::Plan listed =
      CheckOnly(MakePlan(4, {Role("r", {File("r/source", "/etc/apt/sources.list.d/x.sources", "1"),
                                        Package("r/tool", {"no-such-tool"})})}));
  EXPECT_TRUE(Run(listed).succeeded());
  EXPECT_EQ(Results(listed.plan_id())["r/tool"].changes(0).after(),
            "will change (after 'r/source')");
}

// No earlier step is taken to end the processes of an account: see CheckIdMayChange().
TEST_F(EngineTest, CheckModeShowsWhatTheApplyWouldRefuseWhateverComesBefore) {
  node_.check_errors["file[/b]"] = absl::UnavailableError("processes of the user run");
  v1::Plan plan =
      CheckOnly(MakePlan(1, {Role("q", {Package("q/munge", {"munge"}), File("q/b", "/b", "1")})}));
  plan.set_after_changes(true);
  EXPECT_FALSE(Run(plan).succeeded());
  EXPECT_EQ(StatusOf(plan, "q/munge"), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(Results(plan.plan_id())["q/b"].message(), "processes of the user run");
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
