// Permits to reboot: who gets one, how often, and how long the run waits for the node.
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/run/reboot_permits.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_reboots_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::FailingStore;
using ::muster::testing::Said;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

class RunRebootsTest : public RunRebootsFixture {};

TEST_F(RunRebootsTest, APermitNamesTheNodeTheBootAndItsTime) {
  StartRun();
  const v1::RebootAnswer answer = Ask(Question());
  EXPECT_EQ(answer.plan_id(), plan_id_);
  EXPECT_EQ(answer.step_id(), "role/reboot");
  EXPECT_EQ(answer.request_id(), "q1");
  const v1::RebootPermit& permit = answer.permit();
  EXPECT_THAT(permit.permit_id(), Not(IsEmpty()));
  EXPECT_EQ(permit.node_uuid(), "ua");
  EXPECT_EQ(permit.boot_id(), "boot-1");
  EXPECT_EQ(ToTime(permit.expires_at()), clock_.Now() + absl::Minutes(5));
  EXPECT_EQ(PhaseOf("a"), "rebooting");
  EXPECT_EQ(PhaseOf("b"), "running");
  const auto open = Open();
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].permit_id, permit.permit_id());
  EXPECT_EQ(open[0].back_by, clock_.Now() + absl::Minutes(15));
  const auto events = EventsOf("reboot.permit");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].actor, "node:ua");
  EXPECT_EQ(events[0].subject, "a");
  EXPECT_EQ(events[0].detail, absl::StrCat("run ", run_id_, ", step role/reboot, boot boot-1: ",
                                           "kernel 2 is installed but 1 is running"));
}

TEST_F(RunRebootsTest, AnImageIsOrderedBeforeThePermit) {
  compiler_.reboot->set_image("worker@1a2b3c4d");
  StartRun();
  image_refusal_ = absl::FailedPreconditionError("worker has no root.squashfs");
  EXPECT_EQ(Ask(Question("q1")).refusal(), "worker has no root.squashfs");
  EXPECT_THAT(EventsOf("reboot.permit"), IsEmpty());
  // The agent asks again.
  image_refusal_ = absl::UnavailableError("the disk is full");
  EXPECT_THAT(AskAll(Question("q2")), IsEmpty());
  image_refusal_ = absl::OkStatus();
  MustPermit(Question("q2"));
  MustPermit(Question("q2"));
  EXPECT_THAT(ordered_, ElementsAre("a worker@1a2b3c4d admin:alice"));
}

TEST_F(RunRebootsTest, OnlyAnImageIsOrdered) {
  StartRun();
  MustPermit(Question());
  EXPECT_THAT(ordered_, IsEmpty());
}

TEST_F(RunRebootsTest, AnOrderThatWasNotCarriedOutEndsWithItsReboot) {
  compiler_.reboot->set_image("worker@1a2b3c4d");
  StartRun();
  EXPECT_TRUE(Ask(Question(), "ub").has_permit());
  MustPermit(Question("q1"));
  const std::string permit_id = MustPermit(Question("q2")).permit_id();
  EXPECT_THAT(orders_, ElementsAre(Pair("a", permit_id), Pair("b", _)));
  // The network was away for a moment, and the controller, too.
  Cut("a");
  RestartController();
  Connect("a", plan_id_, "boot-1");
  Connect("b", plan_id_, "boot-1");
  EXPECT_THAT(orders_, ElementsAre(Pair("a", permit_id), Pair("b", _)));
  // It has come up from its disk.
  take_back_refusal_ = absl::UnavailableError("the store is locked");
  Connect("a", plan_id_, "boot-2");
  EXPECT_THAT(Open(), SizeIs(2));
  take_back_refusal_ = absl::OkStatus();
  Pass(absl::Seconds(1));
  EXPECT_THAT(Open(), SizeIs(1));
  EXPECT_THAT(orders_, ElementsAre(Pair("b", _)));
  // The agent did not take the permit.
  ReportStep("b", plan_id_, v1::STEP_STATUS_FAILED, "role/reboot");
  ReportOutcome("b", plan_id_, false);
  EXPECT_THAT(orders_, IsEmpty());
}

TEST_F(RunRebootsTest, AnOrderThatAPersonGaveMeanwhileStays) {
  compiler_.reboot->set_image("worker@1a2b3c4d");
  StartRun();
  MustPermit(Question());
  orders_["a"] = "of a person";
  ReportOutcome("a", plan_id_, false);
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_THAT(orders_, ElementsAre(Pair("a", "of a person")));
}

TEST_F(RunRebootsTest, NoOrderOutlivesARunThatIsCancelledAfterARestart) {
  compiler_.reboot->set_image("worker@1a2b3c4d");
  StartRun();
  MustPermit(Question());
  RestartController();
  ASSERT_THAT(orders_, SizeIs(1));
  ASSERT_OK(engine_->Cancel(run_id_, {{"admin:bob", ""}}));
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_CANCELLED);
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_THAT(orders_, IsEmpty());
}

TEST_F(RunRebootsTest, NorOneThatCannotGoOn) {
  compiler_.reboot->set_image("worker@1a2b3c4d");
  StartRun();
  MustPermit(Question());
  site_.clear();
  RestartController();
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(orders_, IsEmpty());
}

TEST_F(RunRebootsTest, NorAPermitThatCouldNotBeStored) {
  FailingStore& store = UseFailingStore();
  compiler_.reboot->set_image("worker@1a2b3c4d");
  StartRun();
  // Nobody is there to take an order back after a crash.
  take_back_refusal_ = absl::UnavailableError("the store is locked");
  store.refuse = true;
  EXPECT_THAT(AskAll(Question()), IsEmpty());
  EXPECT_THAT(orders_, IsEmpty());
  store.refuse = false;
  const std::string permit_id = MustPermit(Question()).permit_id();
  EXPECT_THAT(orders_, ElementsAre(Pair("a", permit_id)));
  take_back_refusal_ = absl::OkStatus();
}

TEST_F(RunRebootsTest, APermitEndsWithThePatienceOfItsRun) {
  compiler_.reboot->mutable_timeout()->set_seconds(60);
  StartRun();
  EXPECT_EQ(ToTime(MustPermit(Question()).expires_at()), clock_.Now() + absl::Minutes(1));
}

TEST_F(RunRebootsTest, ARepeatedQuestionGetsTheSamePermit) {
  StartRun();
  const v1::RebootPermit first = MustPermit(Question());
  Pass(absl::Minutes(4));
  EXPECT_EQ(MustPermit(Question()).SerializeAsString(), first.SerializeAsString());
  EXPECT_THAT(EventsOf("reboot.permit"), SizeIs(1));
  // An expired permit is useless.
  Pass(absl::Minutes(1));
  const v1::RebootPermit later = MustPermit(Question());
  EXPECT_NE(later.permit_id(), first.permit_id());
  EXPECT_THAT(EventsOf("reboot.permit"), SizeIs(2));
  ASSERT_THAT(Open(), SizeIs(1));
  EXPECT_EQ(Open()[0].permit_id, later.permit_id());
}

TEST_F(RunRebootsTest, EachQuestionAndEachBootHasAPermitOfItsOwn) {
  StartRun();
  const v1::RebootPermit first = MustPermit(Question("q1"));
  const v1::RebootPermit second = MustPermit(Question("q2"));
  v1::RebootRequest other_boot = Question("q2");
  other_boot.set_boot_id("boot-2");
  const v1::RebootPermit third = MustPermit(other_boot);
  EXPECT_NE(first.permit_id(), second.permit_id());
  EXPECT_NE(second.permit_id(), third.permit_id());
  EXPECT_EQ(third.boot_id(), "boot-2");
  EXPECT_THAT(Open(), SizeIs(1));
}

TEST_F(RunRebootsTest, TheLastPermitOfAnAgentThatAsksTooOftenHolds) {
  StartRun();
  const int last = RebootPermits::kMaxQuestions - 1;
  for (int i = 0; i < last; ++i) Ask(Question(absl::StrCat("q", i)));
  const v1::RebootPermit permit = MustPermit(Question(absl::StrCat("q", last)));
  EXPECT_THAT(Ask(Question("one more")).refusal(), HasSubstr("check its agent"));
  EXPECT_EQ(MustPermit(Question(absl::StrCat("q", last))).permit_id(), permit.permit_id());
  EXPECT_TRUE(Ask(Question(), "ub").has_permit());
}

TEST_F(RunRebootsTest, NodesWithJobsStayUp) {
  StartRun();
  v1::RebootRequest request = Question();
  for (int job = 1; job <= 7; ++job) request.add_running_jobs()->set_id(absl::StrCat(job));
  EXPECT_THAT(Ask(request).refusal(),
              AllOf(HasSubstr("jobs 1, 2, 3, 4, 5 and 2 more run on a; drain the node"),
                    HasSubstr("muster apply --reboot-with-jobs")));
  EXPECT_EQ(PhaseOf("a"), "running");
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_THAT(EventsOf("reboot.permit"), IsEmpty());
  Ask(request);
  ASSERT_THAT(EventsOf("reboot.refuse"), SizeIs(1)) << "a repeated question counts once";
  EXPECT_THAT(EventsOf("reboot.refuse")[0].detail,
              EndsWith("; jobs 1, 2, 3, 4, 5 and 2 more run on a"));
  // They have ended meanwhile.
  EXPECT_TRUE(Ask(Question("q2")).has_permit());
}

TEST_F(RunRebootsTest, AnAdministratorMayGiveTheJobsUp) {
  StartRun(/*with_jobs=*/true);
  v1::RebootRequest request = Question();
  v1::SlurmJobInfo& job = *request.add_running_jobs();
  job.set_id("7");
  job.set_user("eve");
  job.set_name("train");
  MustPermit(request);
  EXPECT_THAT(EventsOf("reboot.permit")[0].detail, EndsWith("; job 7 (eve, train) runs on a"));
}

TEST_F(RunRebootsTest, SoMayAStep) {
  compiler_.reboot->set_with_running_jobs(true);
  StartRun();
  v1::RebootRequest request = Question();
  request.add_running_jobs()->set_id("7");
  MustPermit(request);
}

TEST_F(RunRebootsTest, OnlyStepsThatRebootOfTheNodesOwnPlanAreAllowed) {
  StartRun();
  v1::RebootRequest request = Question();
  request.set_step_id("role/step");
  EXPECT_THAT(Ask(request).refusal(), HasSubstr("the plan has no reboot 'role/step'"));
  request.set_step_id("role/nowhere");
  EXPECT_THAT(Ask(request).refusal(), HasSubstr("the plan has no reboot 'role/nowhere'"));
  request = Question();
  request.set_plan_id(run_id_ + "/1");
  EXPECT_THAT(Ask(request).refusal(), HasSubstr("no longer waits for this node"));
  request.set_plan_id("r-other/0");
  EXPECT_THAT(Ask(request).refusal(), HasSubstr("run r-other no longer waits for this node"));
  // A node outside the run.
  sessions_.Connect("uc");
  EXPECT_THAT(Ask(Question(), "uc").refusal(), HasSubstr("no longer waits for this node"));
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_THAT(EventsOf("reboot.permit"), IsEmpty());
}

TEST_F(RunRebootsTest, WhatNoAgentAsksIsNotAnswered) {
  StartRun();
  v1::RebootRequest request = Question();
  request.set_plan_id("no plan");
  EXPECT_THAT(AskAll(request), IsEmpty());
  EXPECT_THAT(AskAll(Question("")), IsEmpty());
  EXPECT_THAT(AskAll(Question(std::string(65, 'q'))), IsEmpty());
  request = Question();
  request.set_boot_id("");
  EXPECT_THAT(AskAll(request), IsEmpty());
  request.set_boot_id(std::string(65, 'b'));
  EXPECT_THAT(AskAll(request), IsEmpty());
  EXPECT_THAT(EventsOf("reboot.refuse"), IsEmpty());
}

TEST_F(RunRebootsTest, TheAuditLogTakesLittleOfAnAgentsWords) {
  StartRun();
  v1::RebootRequest request = Question();
  request.set_step_id(std::string(100'000, 's'));
  // Three bytes each, which must not be split.
  std::string reason = "x";
  for (int i = 0; i < 100'000; ++i) reason += "€";
  request.set_reason(reason);
  for (int i = 0; i < 100; ++i) request.add_running_jobs()->set_id(std::string(100'000, '7'));
  EXPECT_THAT(Ask(request).refusal().size(), ::testing::Lt(1000u));
  ASSERT_THAT(EventsOf("reboot.refuse"), SizeIs(1));
  const std::string detail = EventsOf("reboot.refuse")[0].detail;
  EXPECT_THAT(detail.size(), ::testing::Lt(1500u));
  EXPECT_THAT(detail, HasSubstr("€…; job 777"));
}

TEST_F(RunRebootsTest, ACancelledRunRebootsNothing) {
  StartRun();
  ASSERT_OK(engine_->Cancel(run_id_, {{"admin:bob", ""}}));
  EXPECT_THAT(Ask(Question()).refusal(), HasSubstr("was cancelled"));
}

TEST_F(RunRebootsTest, NeitherDoesANodeThatIsThrough) {
  StartRun();
  ReportOutcome("a", plan_id_, true);
  EXPECT_THAT(Ask(Question()).refusal(), HasSubstr("no longer waits for this node"));
}

TEST_F(RunRebootsTest, TheRunGoesOnWithTheNextBoot) {
  StartRun();
  MustPermit(Question());
  Complete("b", plan_id_);
  Cut("a");
  Pass(absl::Minutes(14));
  EXPECT_EQ(PhaseOf("a"), "rebooting");
  // The network was away for a moment, not the machine.
  Connect("a", plan_id_, "boot-1");
  EXPECT_EQ(PhaseOf("a"), "rebooting");
  EXPECT_THAT(Open(), SizeIs(1));
  Cut("a");
  Connect("a", plan_id_, "boot-2");
  EXPECT_EQ(PhaseOf("a"), "running");
  EXPECT_THAT(Open(), IsEmpty());
  ReportStep("a", plan_id_, v1::STEP_STATUS_CHANGED, "role/reboot");
  ReportOutcome("a", plan_id_, true);
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(RunRebootsTest, ANodeThatStaysAwayIsUnreachableAndTheRunEnds) {
  compiler_.reboot->mutable_timeout()->set_seconds(60);
  StartRun();
  MustPermit(Question());
  Complete("b", plan_id_);
  Cut("a");
  Pass(absl::Seconds(59));
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_RUNNING);
  Pass(absl::Seconds(1));
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(PhaseOf("a"), "unreachable");
  EXPECT_THAT(Run(run_id_).nodes(0).message(), Said());
}

TEST_F(RunRebootsTest, AStepThatFailedWithoutARebootEndsThePermit) {
  StartRun();
  MustPermit(Question());
  ReportStep("a", plan_id_, v1::STEP_STATUS_FAILED, "role/reboot");
  ReportOutcome("a", plan_id_, false);
  EXPECT_EQ(PhaseOf("a"), "failed");
  EXPECT_THAT(Open(), IsEmpty());
}

TEST_F(RunRebootsTest, PermitsOfSeveralNodesEndTogether) {
  StartRun();
  MustPermit(Question());
  EXPECT_TRUE(Ask(Question(), "ub").has_permit());
  ASSERT_THAT(Open(), SizeIs(2));
  std::vector<NodeReport> reports;
  for (const char* name : {"a", "b"}) {
    auto report = std::make_shared<v1::Report>();
    report->set_report_sequence(++report_sequence_[name]);
    report->set_plan_id(plan_id_);
    report->mutable_outcome()->set_succeeded(true);
    reports.push_back({std::string("u") + name, std::move(report)});
  }
  engine_->OnReports(std::move(reports));
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(RunRebootsTest, ARestartedControllerKnowsWhoMayBeDown) {
  StartRun();
  MustPermit(Question());
  Complete("b", plan_id_);
  RestartController();
  // Longer than agents take to find a restarted controller.
  Pass(absl::Minutes(5));
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(PhaseOf("a"), "rebooting");
  Connect("a", plan_id_, "boot-2");
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_EQ(MustTakePlan("a").plan_id(), plan_id_);
  ReportStep("a", plan_id_, v1::STEP_STATUS_CHANGED, "role/reboot");
  ReportOutcome("a", plan_id_, true);
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(RunRebootsTest, ARestartedControllerWaitsNoLongerThanTheFirst) {
  StartRun();
  MustPermit(Question());
  Complete("b", plan_id_);
  Cut("a");
  Pass(absl::Minutes(10));
  RestartController();
  Pass(absl::Minutes(4));
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_RUNNING);
  Pass(absl::Minutes(1));
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(Run(run_id_).nodes(0).message(), Said());
}

TEST_F(RunRebootsTest, ARestartedControllerGivesTheSamePermitAgain) {
  StartRun();
  const v1::RebootPermit permit = MustPermit(Question());
  RestartController();
  Connect("a", plan_id_, "boot-1");
  Connect("b", plan_id_, "boot-1");
  EXPECT_EQ(MustPermit(Question()).SerializeAsString(), permit.SerializeAsString());
  EXPECT_THAT(EventsOf("reboot.permit"), SizeIs(1));
  EXPECT_NE(MustPermit(Question("q2")).permit_id(), permit.permit_id());
}

TEST_F(RunRebootsTest, WhatTheStoreCannotKeepIsNotGiven) {
  FailingStore& store = UseFailingStore();
  StartRun();
  store.refuse = true;
  EXPECT_THAT(AskAll(Question()), IsEmpty());
  v1::RebootRequest with_jobs = Question();
  with_jobs.add_running_jobs()->set_id("7");
  EXPECT_THAT(AskAll(with_jobs), IsEmpty());
  store.refuse = false;
  MustPermit(Question());
  EXPECT_THAT(EventsOf("reboot.permit"), SizeIs(1));
}

TEST_F(RunRebootsTest, AnEndThatTheStoreCouldNotKeepIsMadeUpFor) {
  FailingStore& store = UseFailingStore();
  StartRun();
  MustPermit(Question());
  Cut("a");
  store.refuse = true;
  Connect("a", plan_id_, "boot-2");
  store.refuse = false;
  EXPECT_THAT(Open(), SizeIs(1));
  ReportStep("b", plan_id_, v1::STEP_STATUS_OK);
  EXPECT_THAT(Open(), IsEmpty());
}

TEST_F(RunRebootsTest, AlsoByTheNextController) {
  StartRun();
  MustPermit(Question());
  const RebootRecord left = Open().at(0);
  Complete("a", plan_id_);
  ASSERT_THAT(Open(), IsEmpty());
  ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.reboots().Put(left); }));
  ASSERT_THAT(Open(), SizeIs(1));
  RestartController();
  EXPECT_EQ(PhaseOf("a"), "done");
  Connect("b", plan_id_, "boot-1");
  EXPECT_THAT(Open(), IsEmpty());
  Complete("b", plan_id_);
  EXPECT_EQ(PhaseOf("a"), "done");
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_SUCCEEDED);
}

constexpr char kOneRack[] =
    "racks: {r1: {switch: sw1, nodes: 'a,b'}}\n"
    "nodes: {a: {role: compute}, b: {role: compute}, c: {role: compute}}\n";

TEST_F(RunRebootsTest, ARackRebootsAFewAtOnce) {
  UseInventory(absl::StrCat(kOneRack, "vars: {reboots_per_rack: 1}\n"));
  StartRun();
  MustPermit(Question());
  EXPECT_THAT(AskAll(Question("q2"), "ub"), IsEmpty()) << "the agent asks again";
  EXPECT_THAT(EventsOf("reboot.permit"), SizeIs(1));
  EXPECT_THAT(EventsOf("reboot.refuse"), IsEmpty());
  // Repeated, the first question has its permit still.
  MustPermit(Question());
  sessions_.Cut("ua");
  engine_->OnDisconnected("ua");
  EXPECT_THAT(AskAll(Question("q2"), "ub"), IsEmpty()) << "it is not back";
  Connect("a", plan_id_, "boot-2");
  EXPECT_TRUE(Ask(Question("q2"), "ub").has_permit());
}

TEST_F(RunRebootsTest, ANodeThatDoesNotComeBackHoldsUpNobody) {
  UseInventory(absl::StrCat(kOneRack, "vars: {reboots_per_switch: 1}\n"));
  StartRun();
  MustPermit(Question());
  sessions_.Cut("ua");
  engine_->OnDisconnected("ua");
  EXPECT_THAT(AskAll(Question("q2"), "ub"), IsEmpty());
  Pass(absl::Minutes(16));
  EXPECT_EQ(PhaseOf("a"), "unreachable");
  EXPECT_TRUE(Ask(Question("q2"), "ub").has_permit());
}

TEST_F(RunRebootsTest, RebootsInARackAreStaggeredAlsoOverARestart) {
  UseInventory(absl::StrCat(kOneRack, "vars: {reboot_gap: 30s}\n"));
  StartRun();
  MustPermit(Question());
  RestartController();
  Connect("b", plan_id_, "boot-1");
  AnswerFacts(run_id_, 0);
  Pass(absl::Seconds(10));
  EXPECT_THAT(AskAll(Question("q2"), "ub"), IsEmpty());
  Pass(absl::Seconds(20));
  EXPECT_TRUE(Ask(Question("q2"), "ub").has_permit());
}

TEST_F(RunRebootsTest, AWrongLimitRefusesWithItsPlace) {
  UseInventory(absl::StrCat(kOneRack, "vars: {reboots_per_rack: two}\n"));
  StartRun();
  EXPECT_THAT(Ask(Question()).refusal(), Said());
}

}  // namespace
}  // namespace muster::controller
