#include "controller/gate/service_gate.h"

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/gate/node_holds.h"
#include "controller/gate/node_pass.h"
#include "controller/gate/service_candidates.h"
#include "controller/gate/slurm_jobs.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/facts.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::FakeSlurmControl;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Counts listings, from any thread.
class CountingSlurm final : public slurm::SlurmControl {
 public:
  explicit CountingSlurm(FakeSlurmControl& slurm) : slurm_(slurm) {}
  absl::StatusOr<std::vector<slurm::SlurmNode>> Nodes() override {
    absl::MutexLock lock(&mutex_);
    ++count_;
    return slurm_.Nodes();
  }
  absl::StatusOr<slurm::LeftAlone> Drain(const std::vector<slurm::NodeChange>& nodes,
                                         const std::string& reason) override {
    return slurm_.Drain(nodes, reason);
  }
  absl::StatusOr<slurm::LeftAlone> Undrain(const std::vector<slurm::NodeChange>& nodes) override {
    return slurm_.Undrain(nodes);
  }
  absl::StatusOr<SlurmJobsByNode> JobsOn(const std::vector<std::string>& nodes) override {
    return slurm_.JobsOn(nodes);
  }
  absl::StatusOr<slurm::LeftAlone> Requeue(const std::vector<slurm::JobOnNode>& jobs) override {
    return slurm_.Requeue(jobs);
  }
  void Set(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    slurm_.status = status;
  }
  bool Await(int count, absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    const auto is_there = [&] { return count_ >= count; };
    return mutex_.AwaitWithTimeout(absl::Condition(&is_there), timeout);
  }

 private:
  FakeSlurmControl& slurm_;
  absl::Mutex mutex_;
  int count_ = 0;
};

class ServiceGateTest : public ::testing::Test {
 protected:
  ServiceGateTest()
      : store_(OpenStore(":memory:").value()),
        gate_(*store_, slurm_, clock_, [](absl::string_view) {}) {
    EXPECT_OK(store_->Update([](Transaction& txn) -> absl::Status {
      NodeRecord node;
      node.uuid = "u1";
      node.name = "c001";
      node.state = NodeRecord::kConfigured;
      return txn.nodes().Put(node);
    }));
    SetFacts("GPU-1", "6.1.0");
    slurm_.Add("c001");
    slurm_.Add("x999");  // not one of ours
  }

  void SetFacts(const std::string& gpu, const std::string& kernel,
                const std::string& boot_id = "") {
    v1::Facts facts;
    facts.add_gpus()->set_uuid(gpu);
    facts.mutable_os()->set_kernel(kernel);
    facts.mutable_os()->set_boot_id(boot_id);
    facts_ = facts;
    EXPECT_OK(store_->Update(
        [&](Transaction& txn) { return txn.nodes().PutFacts("u1", facts.SerializeAsString()); }));
  }
  // What the agent tells when that probe has no result.
  void SetUnknown(const std::string& probe, const std::string& reason) {
    v1::Facts facts = facts_;
    if (probe == "gpus") facts.clear_gpus();
    if (probe == "os") facts.clear_os();
    v1::UnknownFact& unknown = *facts.add_unknown();
    unknown.set_probe(probe);
    unknown.set_reason(reason);
    EXPECT_OK(store_->Update(
        [&](Transaction& txn) { return txn.nodes().PutFacts("u1", facts.SerializeAsString()); }));
  }
  // Its agent connects from this boot.
  void Boot(const std::string& boot_id) {
    EXPECT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get("u1"));
      node.boot_id = boot_id;
      return txn.nodes().Put(node);
    }));
  }
  // Begins, and ends, as for a reboot by a run.
  void Hold() {
    EXPECT_OK(store_->Update([&](Transaction& txn) {
      return txn.node_holds().Put({"u1", "r-1", "being rebooted", clock_.Now()});
    }));
  }
  void Free() {
    EXPECT_OK(
        store_->Update([](Transaction& txn) { return txn.node_holds().Delete("u1", "r-1"); }));
  }
  void Pass() {
    EXPECT_OK(store_->Update([&](Transaction& txn) {
      NodePassRecord pass = {"u1", "v-2", "quick", "d"};
      pass.passed_at = clock_.Now();
      SetPassKeys(facts_, pass);
      return txn.node_service().PutPass(pass);
    }));
    gate_.OnJudged("u1", "v-2", v1::OUTCOME_PASS);
  }
  void Fail(const std::string& id) {
    EXPECT_OK(store_->Update([](Transaction& txn) { return txn.node_service().RemovePass("u1"); }));
    gate_.OnJudged("u1", id, v1::OUTCOME_FAIL);
  }

  void Run(const std::string& id) { PutValidation(id, ValidationRecord::kRunning); }
  void End(const std::string& id) { PutValidation(id, ValidationRecord::kDone); }
  void PutValidation(const std::string& id, ValidationRecord::State state) {
    EXPECT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ValidationRecord record;
      record.validation_id = id;
      record.state = state;
      RETURN_IF_ERROR(txn.validations().Put(record));
      return txn.validations().PutNode({id, "c001", "u1", 0, ""});
    }));
  }
  int Events(const std::string& action) {
    int count = 0;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto events, txn.events().List(100, 0));
      for (const EventRecord& event : events) count += event.action == action;
      return absl::OkStatus();
    }));
    return count;
  }

  std::unique_ptr<Store> store_;
  FakeSlurmControl slurm_;
  FakeClock clock_;
  v1::Facts facts_;
  ServiceGate gate_;
};

TEST_F(ServiceGateTest, ANodeServesFromItsPassToItsFailAndAgainAfterRepair) {
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, ElementsAre("drain c001: muster:gate has not passed a validation with "
                                        "its present hardware and software"));
  EXPECT_EQ(gate_.ServiceOf("c001"), "not validated");
  ASSERT_OK(gate_.Reconcile());  // nothing more to do
  EXPECT_EQ(slurm_.calls.size(), 1u);

  Pass();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.back(), "undrain c001");
  EXPECT_EQ(gate_.ServiceOf("c001"), "in service");

  Fail("v-3");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.back(), "drain c001: muster:v-3 failed this validation");
  EXPECT_EQ(gate_.ServiceOf("c001"), "quarantined: failed v-3");

  Pass();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.back(), "undrain c001");
  EXPECT_EQ(slurm_.calls.size(), 4u);
  EXPECT_EQ(gate_.ServiceOf("x999"), "");
}

TEST_F(ServiceGateTest, AnotherGpuOrKernelNeedsANewPass) {
  Pass();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, IsEmpty());
  SetFacts("GPU-7", "6.1.0");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls.back(), HasSubstr("has not passed"));
  SetFacts("GPU-1", "6.1.0");  // the old one is back, and with it the hardware that passed
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.back(), "undrain c001");
  SetFacts("GPU-1", "6.12.0");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls.back(), HasSubstr("has not passed"));
}

// What it told before its reboot says nothing about the kernel that runs now.
TEST_F(ServiceGateTest, ANodeThatHasRebootedComesBackWithTheFactsOfItsBoot) {
  for (const auto& [boot, kernel, passes] :
       {std::tuple("b2", "6.1.0", true), std::tuple("b3", "6.12.0", false)}) {
    SCOPED_TRACE(boot);
    SetFacts("GPU-1", "6.1.0", "b1");
    Boot("b1");
    Pass();
    Hold();
    ASSERT_OK(gate_.Reconcile());
    EXPECT_EQ(slurm_.calls.back(), "drain c001: muster:r-1 being rebooted");
    Boot(boot);
    Free();
    ASSERT_OK(gate_.Reconcile());
    EXPECT_EQ(slurm_.calls.back(),
              "drain c001: muster:gate has rebooted and not reported its facts since");
    EXPECT_EQ(gate_.ServiceOf("c001"), "rebooted: its facts are not known yet");
    const size_t calls = slurm_.calls.size();
    ASSERT_OK(gate_.Reconcile());
    EXPECT_EQ(slurm_.calls.size(), calls);
    SetFacts("GPU-1", kernel, boot);
    ASSERT_OK(gate_.Reconcile());
    EXPECT_EQ(slurm_.nodes["c001"].takes_jobs, passes);
    EXPECT_EQ(gate_.ServiceOf("c001"), passes ? "in service" : "not validated");
  }
}

TEST_F(ServiceGateTest, ANodeThatServesIsLeftAloneUntilItsFactsCome) {
  SetFacts("GPU-1", "6.1.0", "b1");
  Boot("b1");
  Pass();
  ASSERT_OK(gate_.Reconcile());
  Boot("b2");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, IsEmpty());
  EXPECT_EQ(gate_.ServiceOf("c001"), "in service");
  SetFacts("GPU-1", "6.12.0", "b2");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls.back(), HasSubstr("has not passed"));
}

// The driver may need half a minute to initialize its GPUs.
TEST_F(ServiceGateTest, AProbeThatTookTooLongIsNoChange) {
  for (const char* probe : {"gpus", "os"}) {
    SCOPED_TRACE(probe);
    SetFacts("GPU-1", "6.1.0");
    Pass();
    ASSERT_OK(gate_.Reconcile());
    SetUnknown(probe, "no answer in 5s");
    ASSERT_OK(gate_.Reconcile());
    EXPECT_THAT(slurm_.calls, IsEmpty());
    EXPECT_EQ(gate_.ServiceOf("c001"), "in service");
  }
  SetUnknown("gpus", "nvmlInit_v2: Driver/library version mismatch");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls.back(), HasSubstr("has not passed"));
  // Nor is it a pass.
  SetUnknown("gpus", "no answer in 5s");
  const size_t calls = slurm_.calls.size();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_FALSE(slurm_.nodes["c001"].takes_jobs);
  EXPECT_EQ(slurm_.calls.size(), calls);
}

TEST_F(ServiceGateTest, WhereABootIsNotKnownTheFactsCount) {
  for (const auto& [told, connected] : {std::pair("", "b2"), std::pair("b1", "")}) {
    SetFacts("GPU-1", "6.1.0", told);
    Boot(connected);
    Pass();
    Hold();
    ASSERT_OK(gate_.Reconcile());
    Free();
    ASSERT_OK(gate_.Reconcile());
    EXPECT_EQ(slurm_.calls.back(), "undrain c001");
  }
}

TEST_F(ServiceGateTest, AnAdministratorsDrainStays) {
  slurm_.DrainBy("root", "c001", "bad disk");
  Pass();
  ASSERT_OK(gate_.Reconcile());
  Fail("v-3");
  ASSERT_OK(gate_.Reconcile());
  Pass();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, IsEmpty());
  EXPECT_EQ(gate_.ServiceOf("c001"), "drained by root: bad disk");
}

// The reason marks the owner: replacing it takes over the drain.
TEST_F(ServiceGateTest, ADrainThatAnAdministratorTookOverIsTheirs) {
  ASSERT_OK(gate_.Reconcile());
  slurm_.DrainBy("root", "c001", "bad disk");
  Pass();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.size(), 1u);
  EXPECT_EQ(gate_.ServiceOf("c001"), "drained by root: bad disk");
}

TEST_F(ServiceGateTest, ADrainThatComesBetweenLookAndActionStays) {
  slurm_.after_listing = [this] { slurm_.DrainBy("root", "c001", "bad disk"); };
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, IsEmpty());
  EXPECT_EQ(slurm_.nodes["c001"].reason, "bad disk");
  EXPECT_EQ(gate_.ServiceOf("c001"), "drained by root: bad disk");
}

// What it was restored from is older than these drains.
TEST_F(ServiceGateTest, DrainsThatARestoredStoreHasForgottenStayUntilSomebodyResumes) {
  Pass();
  for (const char* reason : {"muster:admin:alice bad disk", "muster:v-9 failed this validation",
                             "muster:u-9 update failed: no network"}) {
    SCOPED_TRACE(reason);
    ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.restores().Begin(clock_.Now()); }));
    slurm_.DrainBy("root", "c001", reason);
    slurm_.calls.clear();
    ASSERT_OK(gate_.Reconcile());
    ASSERT_OK(gate_.Reconcile());
    EXPECT_THAT(slurm_.calls, IsEmpty());
    EXPECT_EQ(slurm_.nodes["c001"].reason, reason);
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return FreeNodes(txn, {"c001"}, {"operator:bob", ""}, "", clock_.Now());
    }));
    ASSERT_OK(gate_.Reconcile());
    EXPECT_THAT(slurm_.calls, ElementsAre("undrain c001"));
    EXPECT_EQ(gate_.ServiceOf("c001"), "in service");
  }
  EXPECT_EQ(Events("slurm.keep"), 3);
}

TEST_F(ServiceGateTest, AfterARestoreANodeIsLookedAtOnceAndWorkThatEndedIsNotKept) {
  Pass();
  const auto restore = [&] {
    ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.restores().Begin(clock_.Now()); }));
  };
  for (const char* reason : {"muster:v-9 being validated", "muster:u-9 being updated",
                             "muster:r-9 being rebooted", "muster:gate has not passed"}) {
    SCOPED_TRACE(reason);
    restore();
    slurm_.DrainBy("root", "c001", reason);
    ASSERT_OK(gate_.Reconcile());
    EXPECT_EQ(gate_.ServiceOf("c001"), "in service");
  }
  // A drain that appears later is not one of before.
  restore();
  ASSERT_OK(gate_.Reconcile());
  slurm_.DrainBy("root", "c001", "muster:admin:alice bad disk");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.back(), "undrain c001");
  // Slurm may answer long after the restore, and somebody resume the node before that.
  restore();
  slurm_.DrainBy("root", "c001", "muster:admin:alice bad disk");
  ASSERT_OK(store_->Update([&](Transaction& txn) {
    return FreeNodes(txn, {"c001"}, {"operator:bob", ""}, "", clock_.Now());
  }));
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.back(), "undrain c001");
  EXPECT_EQ(Events("slurm.keep"), 0);
}

TEST_F(ServiceGateTest, AQuarantineThatARestoredStoreHasForgottenIsOneAgain) {
  Pass();
  ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.restores().Begin(clock_.Now()); }));
  const std::string reason = "muster:health:gpu_lost quarantined: GPU-1: Xid 79";
  slurm_.DrainBy("root", "c001", reason);
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.nodes["c001"].reason, reason);
  EXPECT_EQ(gate_.ServiceOf("c001"), "quarantined by gpu_lost: GPU-1: Xid 79");
}

TEST_F(ServiceGateTest, AChangeThatSlurmRefusesIsInTheAuditLogOnce) {
  slurm_.update_status = absl::InternalError("scontrol failed");
  EXPECT_THAT(gate_.Reconcile(), StatusIs(absl::StatusCode::kInternal, Said()));
  EXPECT_THAT(gate_.trouble(), StatusIs(absl::StatusCode::kInternal, Said()));
  EXPECT_EQ(gate_.ServiceOf("c001"), "not validated; Slurm has not been told yet");
  EXPECT_FALSE(gate_.Reconcile().ok());
  slurm_.update_status = absl::OkStatus();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_OK(gate_.trouble());
  EXPECT_EQ(slurm_.calls.size(), 1u);
  EXPECT_EQ(Events("slurm.drain"), 1);
}

TEST_F(ServiceGateTest, OnlyWhoIdlesMayBeBorrowed) {
  const std::vector<std::string> all = {"c001", "x999"};
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(gate_.WhomToBorrow(all), ElementsAre("c001")) << "drained by us, without jobs";
  slurm_.nodes["c001"].state = "MIXED+DRAIN";
  EXPECT_THAT(gate_.WhomToBorrow(all), IsEmpty()) << "a job was there before the drain";
  slurm_.nodes["c001"].state = "IDLE+DRAIN";
  Pass();
  EXPECT_THAT(gate_.WhomToBorrow(all), ElementsAre("c001")) << "about to be let in";
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(gate_.WhomToBorrow(all), ElementsAre("c001"));
  EXPECT_THAT(gate_.WhomToBorrow({"x999"}), IsEmpty());
  for (const char* state : {"ALLOCATED", "MIXED", "IDLE+PLANNED", "IDLE+RESERVED"}) {
    slurm_.nodes["c001"].state = state;
    EXPECT_THAT(gate_.WhomToBorrow(all), IsEmpty()) << state;
  }
  slurm_.DrainBy("root", "c001", "bad disk");
  EXPECT_THAT(gate_.WhomToBorrow(all), IsEmpty());
  slurm_.Add("c001");
  Run("v-5");
  EXPECT_THAT(gate_.WhomToBorrow(all), IsEmpty()) << "another validation has it";
  End("v-5");
  slurm_.status = absl::UnavailableError("slurmctld does not answer");
  EXPECT_THAT(gate_.WhomToBorrow(all), IsEmpty());
  slurm_.status = absl::NotFoundError("Slurm is not installed");
  EXPECT_THAT(gate_.WhomToBorrow(all), ElementsAre("c001", "x999"));
}

TEST_F(ServiceGateTest, WhoServesIsBorrowedBeforeWhoDoesNot) {
  EXPECT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    NodeRecord node;
    node.uuid = "u2";
    node.name = "c002";
    node.state = NodeRecord::kConfigured;
    return txn.nodes().Put(node);
  }));
  slurm_.Add("c002");
  Pass();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(gate_.WhomToBorrow({"c002", "c001"}), ElementsAre("c001", "c002"));
}

TEST_F(ServiceGateTest, WithoutAGateWhoHasNoJobMayBeBorrowed) {
  slurm_.jobs["c001"] = {{"12", "", ""}};
  const std::vector<std::string> all = {"c001", "x999"};
  EXPECT_THAT(NodesWithoutJobs(slurm_, all), ElementsAre("x999"));
  slurm_.status = absl::UnavailableError("slurmctld does not answer");
  EXPECT_THAT(NodesWithoutJobs(slurm_, all), IsEmpty());
  slurm_.status = absl::NotFoundError("Slurm is not installed");
  EXPECT_THAT(NodesWithoutJobs(slurm_, all), ElementsAre("c001", "x999"));
}

TEST_F(ServiceGateTest, ANodeThatCannotBeHeldServesAgain) {
  Pass();
  ASSERT_OK(gate_.Reconcile());
  slurm_.after_listing = [this] {
    slurm_.jobs["c001"] = {{"12", "", ""}};
  };  // between the two questions
  EXPECT_THAT(gate_.Hold("v-5", {"c001"}, /*force=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  slurm_.after_listing = nullptr;
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.back(), "undrain c001");
  EXPECT_EQ(gate_.ServiceOf("c001"), "in service");
}

TEST_F(ServiceGateTest, ANodeIsDrainedWhileItIsValidatedAndReleasedAfterwards) {
  Pass();
  ASSERT_OK(gate_.Hold("v-5", {"c001"}, /*force=*/false));
  EXPECT_THAT(slurm_.calls, ElementsAre("jobs", "drain c001: muster:v-5 being validated", "jobs"));
  EXPECT_EQ(gate_.ServiceOf("c001"), "being validated: v-5");
  Run("v-5");
  gate_.Release("v-5");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.size(), 3u) << "it runs: the drain stays";
  End("v-5");
  gate_.OnJudged("u1", "v-5", v1::OUTCOME_UNKNOWN);
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.back(), "undrain c001") << "what it passed before still holds";
}

TEST_F(ServiceGateTest, IsBehindFromTheEndOfAValidationToTheEndOfALookThatBeganLater) {
  Pass();
  Run("v-5");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(gate_.ServiceOf("c001"), "being validated: v-5");
  // It ends during a look that has read the store before or after.
  slurm_.after_listing = [this] {
    End("v-5");
    gate_.OnJudged("u1", "v-5", v1::OUTCOME_PASS);
  };
  ASSERT_OK(gate_.Reconcile());
  slurm_.after_listing = nullptr;
  EXPECT_TRUE(gate_.IsBehind("v-5"));
  EXPECT_FALSE(gate_.IsBehind("v-2")) << "whose end the first look has seen";
  slurm_.status = absl::UnavailableError("slurmctld is away");
  EXPECT_FALSE(gate_.Reconcile().ok());
  EXPECT_TRUE(gate_.IsBehind("v-5")) << "nothing was seen";
  slurm_.status = absl::OkStatus();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_FALSE(gate_.IsBehind("v-5"));
  EXPECT_EQ(gate_.ServiceOf("c001"), "in service");
}

TEST_F(ServiceGateTest, ARestartedControllerKnowsWhatIsBeingValidated) {
  Pass();
  Run("v-5");
  ServiceGate again(*store_, slurm_, clock_, [](absl::string_view) {});
  ASSERT_OK(again.Reconcile());
  EXPECT_THAT(slurm_.calls, ElementsAre("drain c001: muster:v-5 being validated"));
}

// A controller that died before the validation was in the store leaves such a drain behind.
TEST_F(ServiceGateTest, ADrainForAValidationThatNeverBeganIsTakenAway) {
  Pass();
  slurm_.DrainBy("root", "c001", "muster:v-5 being validated");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, ElementsAre("undrain c001"));
}

TEST_F(ServiceGateTest, JobsThatRunKeepAValidationFromItsNodesUnlessForced) {
  Pass();
  ASSERT_OK(gate_.Reconcile());
  slurm_.jobs["c001"] = {{"12", "eve", "train"}, {"13_4", "", ""}};
  EXPECT_THAT(gate_.Hold("v-5", {"c001", "c002"}, /*force=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  gate_.Release("v-5");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, ElementsAre("jobs")) << "nothing was drained";
  EXPECT_OK(gate_.Hold("v-6", {"c001"}, /*force=*/true));
  EXPECT_EQ(slurm_.calls.back(), "drain c001: muster:v-6 being validated");
}

// A job that starts between the question and the drain.
TEST_F(ServiceGateTest, AJobThatSlipsInIsFoundAfterTheDrain) {
  Pass();
  slurm_.after_listing = [this] { slurm_.jobs["c001"] = {{"14", "", ""}}; };
  EXPECT_THAT(gate_.Hold("v-5", {"c001"}, /*force=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  gate_.Release("v-5");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, ElementsAre("jobs", "drain c001: muster:v-5 being validated", "jobs",
                                        "undrain c001"));
}

// A job could start beside the tests.
TEST_F(ServiceGateTest, ANodeThatCouldNotBeDrainedIsNotTested) {
  Pass();
  slurm_.update_status = absl::InternalError("scontrol failed");
  EXPECT_THAT(gate_.Hold("v-5", {"c001"}, /*force=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  slurm_.update_status = absl::OkStatus();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_THAT(slurm_.calls, ElementsAre("jobs", "jobs")) << "nothing holds it";
  EXPECT_EQ(gate_.ServiceOf("c001"), "in service");
  slurm_.update_status = absl::InternalError("scontrol failed");
  EXPECT_OK(gate_.Hold("v-6", {"c001"}, /*force=*/true));
}

TEST_F(ServiceGateTest, WhereNoJobCanStartNoDrainIsNeeded) {
  EXPECT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    NodeRecord node;
    node.uuid = "u2";
    node.name = "c002";
    return txn.nodes().Put(node);
  }));
  slurm_.update_status = absl::InternalError("scontrol failed");
  slurm_.DrainBy("root", "c001", "bad disk");
  slurm_.Add("c002");
  EXPECT_OK(gate_.Hold("v-5", {"c001", "c002", "c009"}, /*force=*/false))
      << "drained by root, not joined, and not in Slurm";
}

// Jobs continue while slurmctld is away.
TEST_F(ServiceGateTest, ASlurmThatDoesNotAnswerRefuses) {
  slurm_.status = absl::UnavailableError("slurmctld is away");
  EXPECT_THAT(gate_.Hold("v-5", {"c001"}, /*force=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(gate_.Hold("v-5", {"c001"}, /*force=*/true));
}

TEST_F(ServiceGateTest, WhereThereIsNoSlurmYetNothingIsRefused) {
  for (const absl::Status& none : {absl::NotFoundError("no program squeue"),
                                   absl::FailedPreconditionError("login1 has not joined")}) {
    slurm_.status = none;
    EXPECT_OK(gate_.Hold("v-5", {"c001"}, /*force=*/false));
  }
}

TEST_F(ServiceGateTest, TheStoreTellsWhetherSlurmHasShownANode) {
  const auto has_seen = [this] {
    bool seen = false;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(seen, HasSeenSlurm(txn));
      return absl::OkStatus();
    }));
    return seen;
  };
  slurm_.status = absl::NotFoundError("no program scontrol");
  EXPECT_FALSE(gate_.Reconcile().ok());
  Fail("v-3");
  EXPECT_FALSE(has_seen()) << "a verdict needs no Slurm";
  Pass();
  slurm_.status = absl::OkStatus();
  slurm_.nodes.erase("c001");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_FALSE(has_seen()) << "it has only nodes of others";
  slurm_.Add("c001");
  ASSERT_OK(gate_.Reconcile());
  EXPECT_TRUE(has_seen());
  ASSERT_OK(store_->Update(&ForgetSlurm));
  EXPECT_FALSE(has_seen());
  ASSERT_OK(gate_.Reconcile());
  EXPECT_TRUE(has_seen());
}

// A node is drained before its slurmd first registers only if the gate hurries.
TEST_F(ServiceGateTest, IsWokenAndHurriesWhileSlurmIsAway) {
  slurm_.status = absl::UnavailableError("slurmctld is away");
  CountingSlurm counting(slurm_);
  ServiceGate gate(*store_, counting, clock_, [](absl::string_view) {});
  gate.Start();
  // Less than the ordinary interval, in total.
  const auto reach = [&](int count) {
    for (int i = 0; i < 5; ++i) {
      if (counting.Await(count, absl::Seconds(i < 4 ? 1 : 10))) return true;
      clock_.Advance(ServiceGate::kRetryInterval);
    }
    return false;
  };
  EXPECT_TRUE(reach(1));
  EXPECT_TRUE(reach(2));
  counting.Set(absl::OkStatus());
  gate.Wake();
  EXPECT_TRUE(reach(3));
  gate.Wake();
  EXPECT_TRUE(reach(4));
  gate.Stop();
}

// Rollouts wait for both.
TEST_F(ServiceGateTest, TellsOfVerdictsAndOfWhatSlurmWasTold) {
  int news = 0;
  ServiceGate gate(
      *store_, slurm_, clock_, [](absl::string_view) {}, [&news] { ++news; });
  ASSERT_OK(gate.Reconcile());
  EXPECT_EQ(news, 1) << "a node without a pass is drained";
  ASSERT_OK(gate.Reconcile());
  EXPECT_EQ(news, 1) << "nothing has changed";
  Pass();
  gate.OnJudged("u1", "v-2", v1::OUTCOME_PASS);
  EXPECT_EQ(news, 2);
  ASSERT_OK(gate.Reconcile());
  EXPECT_EQ(news, 3) << "it serves again";
}

TEST_F(ServiceGateTest, WhatSlurmCouldNotDoIsDoneLater) {
  slurm_.status = absl::UnavailableError("slurmctld is away");
  EXPECT_THAT(gate_.Reconcile(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  slurm_.status = absl::OkStatus();
  ASSERT_OK(gate_.Reconcile());
  EXPECT_EQ(slurm_.calls.size(), 1u);
}

TEST_F(ServiceGateTest, ARestartedControllerKnowsTheQuarantine) {
  Fail("v-3");
  ASSERT_OK(gate_.Reconcile());
  ServiceGate again(*store_, slurm_, clock_, [](absl::string_view) {});
  ASSERT_OK(again.Reconcile());
  EXPECT_THAT(slurm_.calls, ElementsAre("drain c001: muster:v-3 failed this validation"));
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.events().List(10, 0));
    EXPECT_EQ(events.at(0).action, "slurm.drain");
    EXPECT_EQ(events.at(0).subject, "c001");
    return absl::OkStatus();
  }));
}

TEST_F(ServiceGateTest, SaysOnceWhatSlurmRefuses) {
  slurm_.status = absl::UnavailableError("Slurm does not answer: permission denied");
  absl::Mutex mutex;
  std::vector<std::string> warnings;
  int looks = 0;
  ServiceGate gate(*store_, slurm_, clock_, [&](absl::string_view text) {
    absl::MutexLock lock(&mutex);
    warnings.emplace_back(text);
    ++looks;
  });
  gate.Start();
  {
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(
        +[](int* count) { return *count > 0; }, &looks));
  }
  EXPECT_THAT(gate.Reconcile(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  gate.Stop();
  EXPECT_THAT(warnings, ::testing::ElementsAre(
                            "the gate to Slurm: Slurm does not answer: permission denied"));
}

}  // namespace
}  // namespace muster::controller::validation
