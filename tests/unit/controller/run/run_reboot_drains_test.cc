// Reboots of workers that Slurm uses: no job is ended, and no drain is forgotten.
#include "controller/gate/node_holds.h"
#include "controller/gate/node_pass.h"
#include "controller/gate/reboot_drains.h"
#include "controller/gate/service_gate.h"
#include "controller/run/reboot_permits.h"
#include "muster/v1/facts.pb.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_reboots_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::FakeSlurmControl;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// a and b are in service.
class RunRebootDrainsTest : public RunRebootsFixture {
 protected:
  void SetUp() override {
    RunRebootsFixture::SetUp();
    for (const char* name : {"a", "b"}) {
      slurm_.Add(name);
      Serve(name);
    }
    gate_ = std::make_unique<validation::ServiceGate>(*store_, slurm_, clock_,
                                                      [](absl::string_view) {});
    looks_ = std::make_unique<validation::RebootDrains>(*gate_, slurm_, clock_);
    drains_ = looks_.get();
    RestartController();
    Connect("a", "", "boot-1");
    Connect("b", "", "boot-1");
    ASSERT_OK(gate_->Reconcile());
    ASSERT_THAT(slurm_.calls, IsEmpty()) << "they serve";
  }
  void TearDown() override { engine_.reset(); }

  void Serve(const std::string& name) {
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().GetByName(name));
      node.state = NodeRecord::kConfigured;
      RETURN_IF_ERROR(txn.nodes().Put(node));
      ASSIGN_OR_RETURN(const std::string bytes, txn.nodes().Facts(node.uuid));
      v1::Facts facts;
      facts.ParseFromString(bytes);
      NodePassRecord pass = {node.uuid, "v-1", "quick", "d"};
      pass.passed_at = clock_.Now();
      validation::SetPassKeys(facts, pass);
      return txn.node_service().PutPass(pass);
    }));
  }
  // Asks, lets Slurm be looked at, and asks again.
  std::vector<v1::RebootAnswer> AskTwice(const v1::RebootRequest& request,
                                         const std::string& uuid = "ua") {
    EXPECT_THAT(AskAll(request, uuid), IsEmpty()) << "before Slurm was asked";
    looks_->Look();
    return AskAll(request, uuid);
  }
  v1::RebootPermit MustPermitDrained(const std::string& request_id = "q1") {
    const auto answers = AskTwice(Question(request_id));
    EXPECT_THAT(answers, SizeIs(1));
    if (answers.empty()) return v1::RebootPermit();
    EXPECT_TRUE(answers[0].has_permit()) << answers[0].refusal();
    return answers[0].permit();
  }
  // "owner: reason" of all.
  std::vector<std::string> Holds() {
    std::vector<std::string> holds;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto rows, txn.node_holds().List());
      for (const NodeHoldRecord& row : rows)
        holds.push_back(absl::StrCat(row.node_uuid, " ", row.owner, ": ", row.reason));
      return absl::OkStatus();
    }));
    return holds;
  }
  std::string HoldOf(const std::string& uuid) {
    return absl::StrCat(uuid, " ", run_id_, ": being rebooted");
  }
  // Like the gate's own look.
  const slurm::SlurmNode& InSlurm(const std::string& name) {
    EXPECT_OK(gate_->Reconcile());
    return slurm_.nodes[name];
  }

  FakeSlurmControl slurm_;
  std::unique_ptr<validation::ServiceGate> gate_;
  std::unique_ptr<validation::RebootDrains> looks_;
};

TEST_F(RunRebootDrainsTest, AWorkerIsDrainedFromBeforeItsPermitUntilItHasFinished) {
  StartRun();
  EXPECT_THAT(AskAll(Question()), IsEmpty());
  EXPECT_THAT(Holds(), ElementsAre(HoldOf("ua")));
  looks_->Look();
  EXPECT_TRUE(slurm_.nodes["a"].is_drained);
  EXPECT_EQ(slurm_.nodes["a"].reason, absl::StrCat("muster:", run_id_, " being rebooted"));
  EXPECT_TRUE(slurm_.nodes["b"].takes_jobs);
  MustPermit(Question());
  Complete("b", plan_id_);
  Cut("a");
  EXPECT_TRUE(InSlurm("a").is_drained);
  Connect("a", plan_id_, "boot-2");
  EXPECT_TRUE(InSlurm("a").is_drained) << "what it had before is not looked for yet";
  ReportStep("a", plan_id_, v1::STEP_STATUS_CHANGED, "role/reboot");
  ReportOutcome("a", plan_id_, true);
  EXPECT_THAT(Holds(), IsEmpty());
  EXPECT_TRUE(InSlurm("a").takes_jobs);
}

TEST_F(RunRebootDrainsTest, AJobThatStartsInThatInstantIsNotKilled) {
  StartRun();
  // After the agent has looked, and before Slurm has the drain.
  slurm_.after_listing = [&] {
    if (slurm_.nodes["a"].takes_jobs) slurm_.jobs["a"] = {{"4711", "ann", "train"}};
  };
  const auto answers = AskTwice(Question());
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].refusal(),
              AllOf(HasSubstr("job 4711 (ann, train) runs on a; drain the node"),
                    HasSubstr("muster apply --reboot-with-jobs")));
  EXPECT_THAT(EventsOf("reboot.permit"), IsEmpty());
  ASSERT_THAT(EventsOf("reboot.refuse"), SizeIs(1));
  EXPECT_THAT(EventsOf("reboot.refuse")[0].detail, EndsWith("; job 4711 (ann, train) runs on a"));
  slurm_.after_listing = nullptr;
  EXPECT_THAT(Holds(), IsEmpty());
  EXPECT_TRUE(InSlurm("a").takes_jobs) << "it serves again at once";
  // The job has ended; another question gets its permit.
  slurm_.jobs.clear();
  MustPermitDrained("q2");
}

TEST_F(RunRebootDrainsTest, EachQuestionIsAboutANewLook) {
  StartRun();
  MustPermitDrained("q1");
  // Somebody has resumed it by scontrol, and a job has started.
  slurm_.Add("a");
  slurm_.jobs["a"] = {{"7", "eve", "x"}};
  const auto answers = AskTwice(Question("q2"));
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].refusal(), HasSubstr("job 7 (eve, x) runs on a"));
  EXPECT_THAT(Holds(), ElementsAre(HoldOf("ua"))) << "the first permit may still be used";
}

TEST_F(RunRebootDrainsTest, AJobThatItsAgentFindsFirstFreesTheNodeToo) {
  StartRun();
  EXPECT_THAT(AskAll(Question()), IsEmpty());
  v1::RebootRequest repeated = Question();
  repeated.add_running_jobs()->set_id("7");
  EXPECT_THAT(Ask(repeated).refusal(), HasSubstr("job 7 runs on a"));
  EXPECT_THAT(Holds(), IsEmpty());
}

TEST_F(RunRebootDrainsTest, AnAdministratorsDrainStays) {
  slurm_.DrainBy("root", "a", "bad fan");
  ASSERT_OK(store_->Update([&](Transaction& txn) {
    return validation::HoldNodes(txn, {"b"}, {"admin:ann", ""}, "new cable", clock_.Now());
  }));
  StartRun();
  MustPermitDrained();
  AskAll(Question("q2"), "ub");
  looks_->Look();
  EXPECT_TRUE(Ask(Question("q2"), "ub").has_permit());
  Complete("a", plan_id_);
  Complete("b", plan_id_);
  EXPECT_EQ(InSlurm("a").reason, "bad fan");
  EXPECT_TRUE(slurm_.nodes["a"].is_drained);
  EXPECT_EQ(InSlurm("b").reason, "muster:admin:ann new cable");
  EXPECT_THAT(Holds(), ElementsAre("ub admin:ann: new cable"));
  for (const std::string& call : slurm_.calls) EXPECT_THAT(call, Not(HasSubstr("drain a")));
}

TEST_F(RunRebootDrainsTest, ARestartedControllerAsksAgainAndFreesInTheEnd) {
  StartRun();
  EXPECT_THAT(AskAll(Question()), IsEmpty());
  looks_->Look();
  RestartController();
  Connect("a", plan_id_, "boot-1");
  Connect("b", plan_id_, "boot-1");
  AnswerFacts(run_id_, 0);
  EXPECT_THAT(Holds(), ElementsAre(HoldOf("ua")));
  clock_.Advance(absl::Minutes(1));
  const v1::RebootPermit permit = MustPermitDrained();
  RestartController();
  Connect("a", plan_id_, "boot-1");
  Connect("b", plan_id_, "boot-1");
  AnswerFacts(run_id_, 0);
  EXPECT_TRUE(InSlurm("a").is_drained);
  EXPECT_EQ(MustPermit(Question()).permit_id(), permit.permit_id()) << "one reboot";
  EXPECT_THAT(EventsOf("reboot.permit"), SizeIs(1));
  Connect("a", plan_id_, "boot-2");
  EXPECT_TRUE(InSlurm("a").is_drained);
  Complete("a", plan_id_);
  EXPECT_TRUE(InSlurm("a").takes_jobs);
  Complete("b", plan_id_);
  EXPECT_THAT(Holds(), IsEmpty());
}

TEST_F(RunRebootDrainsTest, AHoldWhoseEndWasNotStoredEndsWithTheNextController) {
  StartRun();
  MustPermitDrained();
  Connect("a", plan_id_, "boot-2");
  Complete("a", plan_id_);
  ASSERT_THAT(Holds(), IsEmpty());
  ASSERT_OK(store_->Update([&](Transaction& txn) {
    return txn.node_holds().Put({"ua", run_id_, "being rebooted", clock_.Now()});
  }));
  RestartController();
  engine_->Tick();
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_RUNNING);
  EXPECT_THAT(Holds(), IsEmpty());
}

TEST_F(RunRebootDrainsTest, ARunThatCannotContinueHoldsNothing) {
  StartRun();
  MustPermitDrained();
  site_.clear();
  RestartController();
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(Holds(), IsEmpty());
}

TEST_F(RunRebootDrainsTest, ANodeThatStaysAwayIsHeldNoLongerThanItsRunWaits) {
  StartRun();
  MustPermitDrained();
  Cut("a");
  Pass(absl::Minutes(14));
  EXPECT_THAT(Holds(), ElementsAre(HoldOf("ua")));
  Pass(absl::Minutes(2));
  EXPECT_EQ(PhaseOf("a"), "unreachable");
  EXPECT_EQ(StateOfRun(), v1::RUN_STATE_RUNNING);
  EXPECT_THAT(Holds(), IsEmpty());
}

TEST_F(RunRebootDrainsTest, WhileSlurmIsSilentNothingReboots) {
  slurm_.status = absl::UnavailableError("slurmctld is down");
  StartRun();
  EXPECT_THAT(AskTwice(Question()), IsEmpty());
  clock_.Advance(RebootPermits::kDrainPatience - absl::Seconds(1));
  EXPECT_THAT(AskTwice(Question()), IsEmpty());
  clock_.Advance(absl::Seconds(1));
  looks_->Look();
  EXPECT_THAT(Ask(Question()).refusal(), Said());
  EXPECT_THAT(Holds(), IsEmpty());
  EXPECT_THAT(EventsOf("reboot.permit"), IsEmpty());
}

TEST_F(RunRebootDrainsTest, WhereJobsMayEndNothingIsDrained) {
  StartRun(/*with_jobs=*/true);
  MustPermit(Question());
  EXPECT_THAT(Holds(), IsEmpty());
}

TEST_F(RunRebootDrainsTest, ALoginNodeIsInNoSlurm) {
  UseInventory("nodes: {a: {role: login}, b: {role: compute}, c: {role: compute}}\n");
  StartRun();
  MustPermit(Question());
  EXPECT_THAT(Holds(), IsEmpty());
}

TEST_F(RunRebootDrainsTest, NodesOfARackAreDrainedAsTheyHaveRoom) {
  UseInventory(
      "racks: {r1: {switch: sw1, nodes: 'a,b'}}\n"
      "nodes: {a: {role: compute}, b: {role: compute}, c: {role: compute}}\n"
      "vars: {reboots_per_rack: 1}\n");
  StartRun();
  EXPECT_THAT(AskAll(Question("q1")), IsEmpty());
  EXPECT_THAT(AskAll(Question("q2"), "ub"), IsEmpty());
  looks_->Look();
  EXPECT_THAT(Holds(), ElementsAre(HoldOf("ua"))) << "b serves until its turn";
  MustPermit(Question("q1"));
  EXPECT_THAT(AskAll(Question("q2"), "ub"), IsEmpty());
  Connect("a", plan_id_, "boot-2");
  const auto answers = AskTwice(Question("q2"), "ub");
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].has_permit());
}

TEST_F(RunRebootDrainsTest, NobodyResumesANodeThatReboots) {
  StartRun();
  MustPermitDrained();
  const auto resume = [&] {
    return store_->Update([&](Transaction& txn) {
      return validation::FreeNodes(txn, {"a"}, {"admin:ann", ""}, "", clock_.Now());
    });
  };
  EXPECT_THAT(resume(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(run_id_)));
  EXPECT_THAT(Holds(), ElementsAre(HoldOf("ua")));
  Connect("a", plan_id_, "boot-2");
  Complete("a", plan_id_);
  EXPECT_OK(resume());
}

}  // namespace
}  // namespace muster::controller
