#include "controller/run/plan/held_plan.h"

#include "common/base/proto_time.h"
#include "common/value/plan_file.h"
#include "controller/run/plan/plan_finish.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/plan_file.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr auto kMoved = absl::StatusCode::kFailedPrecondition;

v1::Plan PlanOf(const std::string& host) {
  v1::Plan plan;
  v1::RolePlan& role = *plan.add_roles();
  role.set_name("role");
  v1::Step& step = *role.add_steps();
  step.set_step_id("role/step");
  step.mutable_hostname()->set_name(host);
  role.add_handlers()->set_step_id("role/handler/h");
  return plan;
}

TEST(StepsDigest, TellsOfStepsAndNotOfTheNode) {
  v1::Plan a = PlanOf("x"), b = PlanOf("x");
  b.set_node_name("other");
  b.set_sequence(7);
  b.set_check_only(true);
  EXPECT_EQ(StepsDigest(a), StepsDigest(b));
  EXPECT_NE(StepsDigest(a), StepsDigest(PlanOf("y")));
  b.mutable_roles(0)->add_needs("c");
  EXPECT_NE(StepsDigest(a), StepsDigest(b));
}

TEST(StepsDigest, DoesNotTellOfSecrets) {
  v1::Plan a = PlanOf("x"), b = PlanOf("x");
  for (v1::Plan* plan : {&a, &b}) {
    v1::Step& step = *plan->mutable_roles(0)->mutable_steps(0);
    step.set_sensitive(true);
    step.mutable_file()->set_path("/etc/key");
    step.mutable_file()->set_content(plan == &a ? "one" : "two");
  }
  EXPECT_EQ(StepsDigest(a), StepsDigest(b));
  b.mutable_roles(0)->mutable_steps(0)->mutable_file()->set_path("/etc/other");
  EXPECT_NE(StepsDigest(a), StepsDigest(b));
}

// A node may reboot between the plan and its update.
TEST(StepsDigest, IsTheSameInEveryBoot) {
  v1::Plan a = PlanOf("x"), b = PlanOf("x");
  for (v1::Plan* plan : {&a, &b}) {
    v1::Step& last = *plan->mutable_roles(0)->add_steps();
    last.set_step_id("last_reboot/reboot");
    last.mutable_last_reboot()->set_boot_id(plan == &a ? "boot-1" : "boot-2");
  }
  EXPECT_EQ(StepsDigest(a), StepsDigest(b));
  EXPECT_NE(StepsDigest(a), StepsDigest(PlanOf("x")));
}

// The kernel that a package brings is known when the package is there.
TEST(HeldPlan, ARebootThatPackagesMayAskForIsWithinThePlan) {
  v1::Plan plan = PlanOf("x");
  v1::Step& reboot = *plan.mutable_roles(0)->add_handlers();
  reboot.set_step_id("role/handler/reboot");
  reboot.mutable_reboot()->set_when(v1::REBOOT_WHEN_REQUIRED);
  v1::PlanFile file;
  v1::PlannedPlay& play = *file.add_plays();
  play.add_nodes()->set_nodes("a");
  play.mutable_nodes(0)->set_steps_digest(StepsDigest(plan));
  v1::PlannedStep& step = *play.add_steps();
  step.set_step_id("role/step");
  v1::PlannedOutcome& outcome = *step.add_outcomes();
  outcome.set_nodes("a");
  outcome.set_status(v1::STEP_STATUS_CHANGED);
  for (const auto& [resource, is_within] : std::map<std::string, bool>{
           {"file[/etc/a]", false}, {"package[linux]", true}, {"package_upgrade[all]", true}}) {
    outcome.set_resource(resource);
    v1::Plan held = plan;
    ASSERT_OK((*HeldPlan::Create(file))->Hold(0, "a", StepsDigest(plan), held));
    EXPECT_EQ(held.roles(0).handlers(1).expect_unchanged(), !is_within) << resource;
    EXPECT_TRUE(held.roles(0).handlers(0).expect_unchanged()) << "it is no reboot";
  }
}

// What the node has in another root is known when it is there.
TEST(HeldPlan, AMoveToAnotherImageIsNotHeld) {
  v1::Plan plan;
  v1::Step& move = *plan.add_roles()->add_steps();
  move.set_step_id("disk_image/move");
  move.mutable_reboot()->set_image("worker@1a2b3c4d");
  v1::PlanFile file;
  v1::PlannedPlay& play = *file.add_plays();
  play.add_nodes()->set_nodes("a,b");
  play.mutable_nodes(0)->set_steps_digest(StepsDigest(plan));
  v1::PlannedStep& step = *play.add_steps();
  step.set_step_id("disk_image/move");
  v1::PlannedOutcome& outcome = *step.add_outcomes();
  outcome.set_nodes("a");
  outcome.set_status(v1::STEP_STATUS_CHANGED);
  const auto held = HeldPlan::Create(file).value();
  EXPECT_THAT(held->Hold(0, "a", StepsDigest(plan), plan),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // It runs the image already, and is held to that.
  ASSERT_OK(held->Hold(0, "b", StepsDigest(plan), plan));
  EXPECT_TRUE(plan.roles(0).steps(0).expect_unchanged());
}

class CheckHoldsTest : public ::testing::Test {
 protected:
  CheckHoldsTest() {
    file_.set_cluster("adm");
    file_.set_ca_pin("sha256:1");
    file_.set_inventory_revision(7);
    *file_.mutable_expires_at() = ToTimestamp(now_ + absl::Hours(1));
  }
  absl::Status Check() const { return CheckHolds(file_, {"adm", "sha256:1"}, 7, now_); }

  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  v1::PlanFile file_;
};

TEST_F(CheckHoldsTest, HoldsWhereNothingMoved) { EXPECT_OK(Check()); }

TEST_F(CheckHoldsTest, RefusesAnotherCluster) {
  file_.set_cluster("hpc2");
  EXPECT_THAT(Check(), StatusIs(kMoved, Said()));
}

TEST_F(CheckHoldsTest, RefusesAClusterSetUpAnew) {
  file_.set_ca_pin("sha256:2");
  EXPECT_THAT(Check(), StatusIs(kMoved, Said()));
}

TEST_F(CheckHoldsTest, RefusesAnExpiredPlan) {
  *file_.mutable_expires_at() = ToTimestamp(now_);
  EXPECT_THAT(Check(), StatusIs(kMoved, Said()));
}

TEST_F(CheckHoldsTest, RefusesAnotherRevisionOfTheInventory) {
  file_.set_inventory_revision(6);
  EXPECT_THAT(Check(), StatusIs(kMoved, Said()));
}

// Runs of the engine that are held to a file in a bundle named "plan".
class HeldRunTest : public RunFixture {
 protected:
  void SetUp() override {
    RunFixture::SetUp();
    for (const char* name : {"a", "b", "c"}) Connect(name);
    file_.set_format(kPlanFileFormat);
    file_.set_bundle_sha256("site");
    file_.set_playbook("one.yaml");
    file_.set_inventory_revision(7);
    *file_.mutable_expires_at() = ToTimestamp(clock_.Now() + absl::Hours(1));
    v1::PlannedPlay& play = *file_.add_plays();
    AddNode(play, "a", "host-a");
    v1::PlannedStep& step = *play.add_steps();
    step.set_step_id("role/step");
    v1::PlannedOutcome& outcome = *step.add_outcomes();
    outcome.set_nodes("a");
    outcome.set_status(v1::STEP_STATUS_CHANGED);
  }

  // Adds the digest of the fake compiler's plan for the host name.
  static void AddNode(v1::PlannedPlay& play, const std::string& name, const std::string& host) {
    v1::Plan plan;
    v1::RolePlan& role = *plan.add_roles();
    role.set_name("role");
    v1::Step& step = *role.add_steps();
    step.set_step_id("role/step");
    step.mutable_hostname()->set_name(host);
    v1::PlannedNodes& nodes = *play.add_nodes();
    nodes.set_nodes(name);
    nodes.set_steps_digest(StepsDigest(plan));
  }

  absl::StatusOr<v1::Run> Create(bool check_only = false) {
    plans_["plan"] = {{kPlanFileName, *WritePlanFile(file_)}};
    v1::CreateRunRequest request;
    request.set_plan_sha256("plan");
    request.set_check_only(check_only);
    absl::StatusOr<v1::Run> run = engine_->Create(request, {{"admin:alice", ""}});
    if (run.ok()) AnswerFacts(run->run_id(), 0);
    return run;
  }

  v1::PlanFile file_;
};

TEST_F(HeldRunTest, DoesWhatTheFileSaysOnItsNodesAlone) {
  const absl::StatusOr<v1::Run> run = Create();
  ASSERT_OK(run);
  EXPECT_EQ(run->playbook(), "one.yaml");
  EXPECT_EQ(run->plan_sha256(), "plan");
  ASSERT_EQ(run->nodes_size(), 1);
  EXPECT_EQ(run->nodes(0).node(), "a");
  EXPECT_FALSE(MustTakePlan("a").roles(0).steps(0).expect_unchanged());
  Complete("a", run->run_id() + "/0");
  EXPECT_EQ(Run(run->run_id()).state(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(HeldRunTest, WhetherJobsMayDieIsTheFilesToSay) {
  plans_["plan"] = {{kPlanFileName, *WritePlanFile(file_)}};
  v1::CreateRunRequest request;
  request.set_plan_sha256("plan");
  request.set_reboot_with_jobs(true);
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(HeldRunTest, StepsThatArePlannedUnchangedAreMarked) {
  file_.mutable_plays(0)->mutable_steps(0)->mutable_outcomes(0)->set_status(v1::STEP_STATUS_OK);
  ASSERT_OK(Create());
  const v1::Plan plan = MustTakePlan("a");
  EXPECT_TRUE(plan.roles(0).steps(0).expect_unchanged());
  EXPECT_EQ(plan.digest(), PlanDigest(plan));
}

TEST_F(HeldRunTest, OtherStepsThanTheFilesAreNotSent) {
  file_.mutable_plays(0)->clear_nodes();
  AddNode(*file_.mutable_plays(0), "a", "another");
  const absl::StatusOr<v1::Run> run = Create();
  ASSERT_OK(run);
  const v1::Run end = Run(run->run_id());
  EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(end.nodes(0).message(), Said());
  for (const v1::ControllerMessage& message : sessions_.Take("ua")) {
    EXPECT_FALSE(message.has_plan());
  }
}

TEST_F(HeldRunTest, AFreshCheckOnlyLooksAndTellsTheDigest) {
  file_.mutable_plays(0)->clear_nodes();
  AddNode(*file_.mutable_plays(0), "a", "another");
  const absl::StatusOr<v1::Run> run = Create(/*check_only=*/true);
  ASSERT_OK(run);
  const v1::Plan plan = MustTakePlan("a");
  EXPECT_TRUE(plan.check_only());
  EXPECT_FALSE(plan.roles(0).steps(0).expect_unchanged());
  Complete("a", run->run_id() + "/0");
  EXPECT_EQ(Run(run->run_id()).nodes(0).steps_digests().at(0), StepsDigest(plan));
}

TEST_F(HeldRunTest, GoesOnHeldAfterARestart) {
  file_.mutable_plays(0)->mutable_steps(0)->mutable_outcomes(0)->set_status(v1::STEP_STATUS_OK);
  const absl::StatusOr<v1::Run> run = Create();
  ASSERT_OK(run);
  MustTakePlan("a");
  clock_.Advance(absl::Hours(2));  // expired meanwhile: a run that has begun is completed
  Restart();
  Connect("a");
  AnswerFacts(run->run_id(), 0);
  EXPECT_TRUE(MustTakePlan("a").roles(0).steps(0).expect_unchanged());
}

TEST_F(HeldRunTest, APlanOfARolloutIsForRolloutsAlone) {
  file_.mutable_rollout()->set_cluster("adm");
  EXPECT_THAT(Create().status(), StatusIs(kMoved, Said()));
  EXPECT_OK(Create(/*check_only=*/true)) << "a look at whether it still holds";
}

TEST_F(HeldRunTest, TheRunsOfARolloutAreHeldToAFileThatHasExpiredSinceItBegan) {
  file_.mutable_rollout()->set_cluster("adm");
  file_.set_inventory_revision(6);
  *file_.mutable_expires_at() = ToTimestamp(clock_.Now() - absl::Hours(1));
  file_.mutable_plays(0)->clear_nodes();
  AddNode(*file_.mutable_plays(0), "a", "another");
  plans_["plan"] = {{kPlanFileName, *WritePlanFile(file_)}};
  EXPECT_THAT(engine_->PlanFileOf("plan").status(), StatusIs(kMoved, Said()));
  v1::CreateRunRequest request;
  request.set_plan_sha256("plan");
  request.set_limit("a");
  RunActor rollout = {{"admin:alice", ""}};
  rollout.rollout_id = "u-1";
  const absl::StatusOr<v1::Run> run = engine_->Create(request, rollout);
  ASSERT_OK(run);
  AnswerFacts(run->run_id(), 0);
  EXPECT_EQ(Run(run->run_id()).state(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(Run(run->run_id()).nodes(0).message(), Said());
}

TEST_F(HeldRunTest, WhatMovedIsRefused) {
  file_.set_inventory_revision(6);
  EXPECT_THAT(Create().status(), StatusIs(kMoved, Said()));
  file_.set_inventory_revision(7);
  file_.set_bundle_sha256("gone");
  EXPECT_THAT(Create().status(), StatusIs(absl::StatusCode::kNotFound, Said()));
  file_.set_bundle_sha256("site");
  file_.mutable_plays(0)->clear_nodes();
  EXPECT_THAT(Create().status(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  v1::CreateRunRequest request;
  request.set_plan_sha256("site");
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  request.set_plan_sha256("plan");
  request.add_tags("known");
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_TRUE(Runs().empty());
}

}  // namespace
}  // namespace muster::controller
