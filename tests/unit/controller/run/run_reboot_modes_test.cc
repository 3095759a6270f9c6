// When the nodes of a run reboot: CreateRunRequest.reboots.
#include <string>

#include "common/base/status.h"
#include "controller/run/plan/reboot_mode.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RebootModesTest : public RunFixture {
 protected:
  void SetUp() override {
    RunFixture::SetUp();
    compiler_.reboot.emplace();
    compiler_.reboot->set_reason("new driver");
    for (const char* name : {"a", "b", "c"}) {
      SetBoot(name, "boot-1");
      Connect(name, "", "boot-1");
    }
  }
  void SetBoot(const std::string& name, const std::string& boot_id) {
    NodeRecord node = NodeOf(name);
    node.boot_id = boot_id;
    ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.nodes().Put(node); }));
  }
  std::string MustStart(v1::RebootMode mode, const std::string& playbook = "one.yaml",
                        bool check_only = false) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256("site");
    request.set_playbook(playbook);
    request.set_check_only(check_only);
    request.set_reboots(mode);
    const absl::StatusOr<v1::Run> run = engine_->Create(request, {{"admin:alice", ""}});
    EXPECT_OK(run);
    if (!run.ok()) return "";
    AnswerFacts(run->run_id(), 0);
    return run->run_id();
  }
  void ReportPending(const std::string& name, const std::string& plan_id,
                     const std::string& boot_id) {
    v1::Report report;
    report.set_report_sequence(++report_sequence_[name]);
    report.set_plan_id(plan_id);
    v1::StepResult& step = *report.mutable_step();
    step.set_step_id("role/reboot");
    step.set_status(v1::STEP_STATUS_OK);
    step.mutable_reboot_pending()->set_reason("new driver");
    step.mutable_reboot_pending()->set_boot_id(boot_id);
    engine_->OnReports({{"u" + name, std::make_shared<const v1::Report>(report)}});
  }
  std::vector<PendingRebootRecord> PutOff() {
    std::vector<PendingRebootRecord> pending;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(pending, txn.reboots().ListPending());
      return absl::OkStatus();
    }));
    return pending;
  }
};

TEST_F(RebootModesTest, OtherwiseThePlanIsThatOfThePlaybook) {
  MustStart(v1::REBOOT_MODE_UNSPECIFIED);
  const v1::Plan plan = MustTakePlan("a");
  ASSERT_THAT(plan.roles(), SizeIs(1));
  EXPECT_TRUE(plan.roles(0).steps(1).has_reboot());
}

TEST_F(RebootModesTest, NeverOnlyLooksWhetherTheNodeHasTo) {
  MustStart(v1::REBOOT_MODE_NEVER);
  const v1::Plan plan = MustTakePlan("a");
  ASSERT_THAT(plan.roles(), SizeIs(1));
  const v1::Step& step = plan.roles(0).steps(1);
  EXPECT_EQ(step.step_id(), "role/reboot");
  EXPECT_FALSE(step.has_reboot());
  EXPECT_EQ(step.pending_reboot().reason(), "new driver");
}

TEST_F(RebootModesTest, AHandlerIsPutOffToo) {
  v1::Plan plan;
  v1::RolePlan& role = *plan.add_roles();
  role.add_steps()->mutable_hostname()->set_name("a");
  role.add_handlers()->mutable_reboot()->set_when(v1::REBOOT_WHEN_ALWAYS);
  PutRebootsOff(plan);
  EXPECT_TRUE(plan.roles(0).steps(0).has_hostname());
  EXPECT_EQ(plan.roles(0).handlers(0).pending_reboot().when(), v1::REBOOT_WHEN_ALWAYS);
}

TEST_F(RebootModesTest, ARebootThatWasPutOffIsPendingUntilAnotherBoot) {
  const std::string run = MustStart(v1::REBOOT_MODE_NEVER);
  MustTakePlan("a");
  ReportPending("a", run + "/0", "boot-1");
  ASSERT_THAT(PutOff(), SizeIs(1));
  EXPECT_EQ(PutOff()[0].node_uuid, "ua");
  EXPECT_EQ(PutOff()[0].reason, "new driver");
  EXPECT_EQ(PutOff()[0].run_id, run);
  SetBoot("a", "boot-2");
  EXPECT_THAT(PutOff(), IsEmpty());
}

// The report of a node that went down before it could send it.
TEST_F(RebootModesTest, AReportFromAnEarlierBootPutsNothingOff) {
  const std::string run = MustStart(v1::REBOOT_MODE_NEVER);
  MustTakePlan("a");
  SetBoot("a", "boot-2");
  ReportPending("a", run + "/0", "boot-1");
  EXPECT_THAT(PutOff(), IsEmpty());
}

TEST_F(RebootModesTest, ACheckPutsNothingOff) {
  const std::string run = MustStart(v1::REBOOT_MODE_NEVER, "one.yaml", /*check_only=*/true);
  MustTakePlan("a");
  ReportPending("a", run + "/0", "boot-1");
  EXPECT_THAT(PutOff(), IsEmpty());
}

TEST_F(RebootModesTest, AReportThatComesAfterTheRunIsOverCounts) {
  const std::string run = MustStart(v1::REBOOT_MODE_NEVER);
  for (const char* name : {"a", "b"}) {
    MustTakePlan(name);
    Complete(name, run + "/0");
  }
  ASSERT_EQ(Run(run).state(), v1::RUN_STATE_SUCCEEDED);
  ReportPending("b", run + "/0", "boot-1");
  EXPECT_THAT(PutOff(), SizeIs(1));
}

// A node that reports a reboot which nobody has put off.
TEST_F(RebootModesTest, OnlyARunThatPutsRebootsOffIsBelieved) {
  const std::string run = MustStart(v1::REBOOT_MODE_AUTO);
  MustTakePlan("a");
  ReportPending("a", run + "/0", "boot-1");
  EXPECT_THAT(PutOff(), IsEmpty());
}

TEST_F(RebootModesTest, AlwaysEndsTheLastPlanOfEachNodeWithAReboot) {
  const std::string run = MustStart(v1::REBOOT_MODE_ALWAYS, "two.yaml");
  for (const char* name : {"a", "b"}) {
    EXPECT_THAT(MustTakePlan(name).roles(), SizeIs(1)) << "the second play is the last one";
    Complete(name, run + "/0");
  }
  AnswerFacts(run, 1);
  const v1::Plan plan = MustTakePlan("a");
  ASSERT_THAT(plan.roles(), SizeIs(2));
  EXPECT_THAT(plan.roles(1).needs(), ElementsAre("role"));
  EXPECT_EQ(plan.roles(1).steps(0).last_reboot().boot_id(), "boot-1");
  EXPECT_TRUE(plan.roles(0).steps(1).has_reboot()) << "the playbook's own stay";
}

TEST_F(RebootModesTest, ANodeThatRebootedInAnEarlierPlayLeftThatBoot) {
  compiler_.reboot.reset();
  const std::string run = MustStart(v1::REBOOT_MODE_ALWAYS, "two.yaml");
  RebootRecord reboot;
  reboot.permit_id = "p1";
  reboot.run_id = run;
  reboot.node = "a";
  reboot.node_uuid = "ua";
  reboot.boot_id = "boot-0";
  reboot.granted_at = reboot.expires_at = reboot.back_by = clock_.Now();
  reboot.ended_at = clock_.Now();
  ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.reboots().Put(reboot); }));
  for (const char* name : {"a", "b"}) {
    MustTakePlan(name);
    Complete(name, run + "/0");
  }
  AnswerFacts(run, 1);
  EXPECT_EQ(MustTakePlan("a").roles(1).steps(0).last_reboot().boot_id(), "boot-0");
  EXPECT_EQ(MustTakePlan("b").roles(1).steps(0).last_reboot().boot_id(), "boot-1");
}

TEST_F(RebootModesTest, TheLastRebootGetsItsPermit) {
  compiler_.reboot.reset();
  const std::string run = MustStart(v1::REBOOT_MODE_ALWAYS);
  const v1::Plan plan = MustTakePlan("a");
  v1::RebootRequest question;
  question.set_plan_id(run + "/0");
  question.set_step_id(plan.roles(1).steps(0).step_id());
  question.set_boot_id("boot-1");
  question.set_request_id("q1");
  engine_->OnRebootRequest("ua", question);
  bool is_permitted = false;
  for (const v1::ControllerMessage& message : sessions_.Take("ua"))
    is_permitted = is_permitted || message.reboot_answer().has_permit();
  EXPECT_TRUE(is_permitted);
}

TEST_F(RebootModesTest, ALaterPermitTakesBackWhatWasOrderedForTheOneBefore) {
  compiler_.reboot->set_image("worker@1a2b3c4d");
  const std::string run = MustStart(v1::REBOOT_MODE_ALWAYS);
  const v1::Plan plan = MustTakePlan("a");
  v1::RebootRequest question;
  question.set_plan_id(run + "/0");
  question.set_step_id("role/reboot");
  question.set_boot_id("boot-1");
  question.set_request_id("q1");
  engine_->OnRebootRequest("ua", question);
  EXPECT_THAT(orders_, SizeIs(1));
  question.set_step_id(plan.roles(1).steps(0).step_id());
  question.set_request_id("q2");
  take_back_refusal_ = absl::UnavailableError("the store is locked");
  engine_->OnRebootRequest("ua", question);
  EXPECT_THAT(EventsOf("reboot.permit"), SizeIs(1)) << "the agent asks again";
  take_back_refusal_ = absl::OkStatus();
  engine_->OnRebootRequest("ua", question);
  EXPECT_THAT(EventsOf("reboot.permit"), SizeIs(2));
  EXPECT_THAT(orders_, IsEmpty());
}

TEST_F(RebootModesTest, ANodeOfWhichNoBootIsKnownIsNotUpdated) {
  SetBoot("a", "");
  const std::string run = MustStart(v1::REBOOT_MODE_ALWAYS);
  EXPECT_THAT(StateOf(run, "a"), ::testing::StartsWith("failed"));
  EXPECT_FALSE(MustTakePlan("b").roles().empty());
}

TEST_F(RebootModesTest, TheLastRebootHasARoleOfItsOwn) {
  v1::Plan plan;
  plan.add_roles()->set_name("last_reboot");
  ASSERT_OK(AddLastReboot("boot-1", plan));
  EXPECT_EQ(plan.roles(1).name(), "last_reboot_");
  EXPECT_THAT(AddLastReboot("", plan), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller
