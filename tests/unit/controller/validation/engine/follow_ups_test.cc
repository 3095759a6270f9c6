// The validations at the end of runs, over a real store, with fake agents and a fake clock.
#include "controller/validation/engine/follow_ups.h"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/inventory/inventory.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/engine/validation_records.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/validation/test_catalog.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::FakeAgentSessions;
using ::muster::testing::FakeClock;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FollowUpsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = OpenStore(":memory:").value();
    for (const char* name : {"c001", "c002"}) {
      NodeRecord node;
      node.uuid = absl::StrCat("u-", name);
      node.name = name;
      node.state = NodeRecord::kConfigured;
      ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.nodes().Put(node); }));
      SetKernel(name, "6.1.0");
      sessions_.Connect(node.uuid);
    }
    Restart();
  }

  void Restart() {
    validations_ = std::make_unique<FollowUps>(
        *store_, sessions_, clock_,
        [this](const v1::CreateValidationRequest& request,
               const RunValidationRecord& asked_by) -> absl::Status {
          if (!create_error_.ok()) return create_error_;
          ASSIGN_OR_RETURN(const auto nodes, ExpandHostlist(request.nodes()));
          for (const std::string& node : nodes) {
            if (busy_.count(node) == 0) continue;
            return absl::FailedPreconditionError(absl::StrCat("a job runs on ", node));
          }
          created_.push_back(request);
          RunValidationRecord started = asked_by;
          started.state = RunValidationRecord::kStarted;
          started.validation_id = absl::StrCat("v-", created_.size());
          if (before_store_) before_store_();
          return store_->Update([&](Transaction& txn) { return PutWaiting(txn, started); });
        },
        [this](const std::vector<std::string>&) { return busy_; });
    ASSERT_OK(validations_->Resume());
  }

  // The state after a run on both nodes.
  void EndRun(const std::string& run_id, bool check_only = false) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256("site");
    request.set_check_only(check_only);
    RunRecord run;
    run.run_id = run_id;
    run.state = RunRecord::kSucceeded;
    run.request = request.SerializeAsString();
    run.created_at = clock_.Now();
    RunValidationRecord row = {run_id, 0, "pass", "acceptance"};
    row.nodes = "c[001-002]";
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.runs().Put(run));
      return txn.run_validations().Put(row);
    }));
  }
  void SetKernel(const std::string& name, const std::string& kernel,
                 const std::string& boot_id = "") {
    v1::Facts facts;
    facts.mutable_os()->set_kernel(kernel);
    facts.mutable_os()->set_boot_id(boot_id);
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.nodes().PutFacts("u-" + name, facts.SerializeAsString());
    }));
  }
  void Pass(const std::string& name, const std::string& kernel) {
    NodePassRecord pass;
    pass.node_uuid = "u-" + name;
    pass.kernel = kernel;
    ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.node_service().PutPass(pass); }));
  }
  // r-1 ends while a job runs on c002: the suite starts on c001, and waits for the other.
  void StartWithoutBusyNode() {
    busy_ = {"c002"};
    EndRun("r-1");
    validations_->OnRunEnded("r-1");
    validations_->Reconcile();
    AnswerFacts();
    validations_->Reconcile();
    validations_->Reconcile();
    ASSERT_EQ(created_.size(), 1u);
  }
  // Answers for the nodes that were asked for their facts since the last look.
  std::vector<std::string> AnswerFacts() {
    std::vector<std::string> asked;
    for (const char* name : {"c001", "c002"}) {
      const std::string uuid = absl::StrCat("u-", name);
      for (const v1::ControllerMessage& message : sessions_.Take(uuid)) {
        if (!message.has_gather_facts()) continue;
        asked.push_back(name);
        const auto request = ParseFactsRequest(message.gather_facts().request_id());
        EXPECT_EQ(request->owner, FactsRequest::Owner::kRunEnd);
        validations_->OnFactsStored(uuid, request->id);
      }
    }
    return asked;
  }
  RunValidationRecord Row(const std::string& run_id) {
    RunValidationRecord row;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto rows, txn.run_validations().List(run_id));
      row = rows.at(0);
      return absl::OkStatus();
    }));
    return row;
  }
  std::vector<std::string> Audit() {
    std::vector<std::string> lines;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto events, txn.events().List(100, 0));
      for (const EventRecord& event : events) {
        lines.push_back(absl::StrCat(event.action, " ", event.subject, " ", event.detail));
      }
      return absl::OkStatus();
    }));
    return lines;
  }

  std::unique_ptr<Store> store_;
  FakeAgentSessions sessions_;
  FakeClock clock_;
  absl::Status create_error_;
  std::set<std::string> busy_;
  std::function<void()> before_store_;  // while a validation is created
  std::vector<v1::CreateValidationRequest> created_;
  std::unique_ptr<FollowUps> validations_;
};

TEST_F(FollowUpsTest, AsksNodesWhatTheyAreAndValidatesThem) {
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  EXPECT_THAT(created_, IsEmpty());
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kWaiting);
  EXPECT_THAT(AnswerFacts(), ElementsAre("c001", "c002"));
  validations_->Reconcile();
  ASSERT_EQ(created_.size(), 1u);
  EXPECT_EQ(created_[0].bundle_sha256(), "site");
  EXPECT_EQ(created_[0].suite(), "acceptance");
  EXPECT_EQ(created_[0].nodes(), "c[001-002]");
  EXPECT_EQ(Row("r-1").validation_id, "v-1");
  // Once.
  validations_->Reconcile();
  clock_.Advance(absl::Minutes(5));
  validations_->Reconcile();
  EXPECT_EQ(created_.size(), 1u);
  EXPECT_THAT(AnswerFacts(), IsEmpty());
}

TEST_F(FollowUpsTest, LeavesNodesAloneThatHavePassedAsWhatTheyAre) {
  Pass("c001", "6.1.0");
  Pass("c002", "6.1.0");
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  AnswerFacts();
  validations_->Reconcile();
  EXPECT_THAT(created_, IsEmpty());
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kNotNeeded);
  EXPECT_EQ(Row("r-1").nodes, "");
  EXPECT_EQ(Row("r-1").passed_nodes, "c[001-002]");
}

TEST_F(FollowUpsTest, ARunThatMadeAnotherMachineOfANodeHasItValidatedAgain) {
  Pass("c001", "6.1.0");
  Pass("c002", "6.1.0");
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  SetKernel("c002", "6.12.0");  // only the facts from after the run count
  AnswerFacts();
  validations_->Reconcile();
  ASSERT_EQ(created_.size(), 1u);
  EXPECT_EQ(created_[0].nodes(), "c002");
  EXPECT_EQ(Row("r-1").nodes, "c002");
  EXPECT_EQ(Row("r-1").passed_nodes, "c001");
}

TEST_F(FollowUpsTest, WhatANodeToldBeforeItsRebootDoesNotCount) {
  SetKernel("c001", "6.1.0", "boot-1");
  Pass("c001", "6.1.0");
  Pass("c002", "6.1.0");
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get("u-c001"));
    node.boot_id = "boot-2";
    return txn.nodes().Put(node);
  }));
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  clock_.Advance(FollowUps::kFactsWait);
  validations_->Reconcile();
  ASSERT_EQ(created_.size(), 1u);
  EXPECT_EQ(created_[0].nodes(), "c001");
}

TEST_F(FollowUpsTest, ANodeThatDoesNotAnswerIsNotWaitedForLong) {
  sessions_.Cut("u-c002");
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  EXPECT_THAT(AnswerFacts(), ElementsAre("c001"));
  validations_->Reconcile();
  EXPECT_THAT(created_, IsEmpty());
  clock_.Advance(FollowUps::kFactsWait);
  validations_->Reconcile();
  ASSERT_EQ(created_.size(), 1u);
  EXPECT_EQ(created_[0].nodes(), "c[001-002]");
}

TEST_F(FollowUpsTest, ARestartMakesUpForWhatWasLeft) {
  EndRun("r-1");
  for (const char* uuid : {"u-c001", "u-c002"}) sessions_.Cut(uuid);
  Restart();  // nobody reports the run again
  validations_->Reconcile();
  clock_.Advance(FollowUps::kFactsWait);
  validations_->Reconcile();
  EXPECT_THAT(created_, IsEmpty());
  for (const char* uuid : {"u-c001", "u-c002"}) sessions_.Connect(uuid);
  validations_->Reconcile();
  AnswerFacts();
  validations_->Reconcile();
  EXPECT_EQ(created_.size(), 1u);
  Restart();
  validations_->Reconcile();
  EXPECT_EQ(created_.size(), 1u);
}

TEST_F(FollowUpsTest, ACheckOnlySaysWhatWouldBeValidated) {
  Pass("c001", "6.1.0");
  EndRun("r-1", /*check_only=*/true);
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  EXPECT_THAT(AnswerFacts(), IsEmpty());
  EXPECT_THAT(created_, IsEmpty());
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kPredicted);
  EXPECT_EQ(Row("r-1").nodes, "c002");
  EXPECT_EQ(Row("r-1").passed_nodes, "c001");
}

TEST_F(FollowUpsTest, WaitsForNodesThatOthersWorkOn) {
  create_error_ = absl::FailedPreconditionError("run r-2 works on c001");
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  AnswerFacts();
  validations_->Reconcile();
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kWaiting);
  EXPECT_EQ(Row("r-1").message, "run r-2 works on c001");
  EXPECT_EQ(Row("r-1").nodes, "c[001-002]");
  create_error_ = absl::OkStatus();
  validations_->Reconcile();  // too early
  EXPECT_THAT(created_, IsEmpty());
  Pass("c001", "6.1.0");  // by the validation that held it
  clock_.Advance(FollowUps::kBusyWait);
  validations_->Reconcile();
  ASSERT_EQ(created_.size(), 1u);
  EXPECT_EQ(created_[0].nodes(), "c002");
  EXPECT_EQ(Row("r-1").message, "");
}

TEST_F(FollowUpsTest, FreeNodesDoNotWaitForThoseWithJobs) {
  ASSERT_NO_FATAL_FAILURE(StartWithoutBusyNode());
  EXPECT_EQ(created_[0].nodes(), "c001");
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kWaiting);
  EXPECT_EQ(Row("r-1").nodes, "c002");
  EXPECT_EQ(Row("r-1").message, "a job runs on c002");
  Restart();  // both parts are remembered
  busy_.clear();
  for (int i = 0; i < 2; ++i) {
    validations_->Reconcile();
    AnswerFacts();
  }
  validations_->Reconcile();
  ASSERT_EQ(created_.size(), 2u);
  EXPECT_EQ(created_[1].nodes(), "c002");
}

TEST_F(FollowUpsTest, WhatWaitsCanBeTakenAwayForGood) {
  create_error_ = absl::FailedPreconditionError("run r-2 works on c001");
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  AnswerFacts();
  validations_->Reconcile();
  ASSERT_OK(validations_->Cancel("r-1", {"operator:alice", "peer"}));
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kNotStarted);
  EXPECT_EQ(Row("r-1").message, "cancelled by operator:alice");
  EXPECT_THAT(Audit(),
              ElementsAre("validation.cancel r-1 suite acceptance on c[001-002], before it "
                          "started"));
  create_error_ = absl::OkStatus();
  for (int process = 0; process < 2; ++process) {
    clock_.Advance(absl::Minutes(5));
    validations_->Reconcile();
    AnswerFacts();
    validations_->Reconcile();
    Restart();
  }
  EXPECT_THAT(created_, IsEmpty());
  EXPECT_EQ(Row("r-1").message, "cancelled by operator:alice");
  EXPECT_THAT(validations_->Cancel("r-1", {"operator:alice", "peer"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(FollowUpsTest, ACancelBeforeTheFactsAreThereCountsToo) {
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  ASSERT_OK(validations_->Cancel("r-1", {"operator:alice", "peer"}));
  AnswerFacts();
  validations_->Reconcile();
  EXPECT_THAT(created_, IsEmpty());
}

TEST_F(FollowUpsTest, ACancelLeavesWhatHasStarted) {
  ASSERT_NO_FATAL_FAILURE(StartWithoutBusyNode());
  ASSERT_OK(validations_->Cancel("r-1", {"operator:alice", "peer"}));
  std::vector<RunValidationRecord> rows;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(rows, txn.run_validations().List("r-1"));
    return absl::OkStatus();
  }));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].state, RunValidationRecord::kNotStarted);
  EXPECT_EQ(rows[0].nodes, "c002");
  EXPECT_EQ(rows[1].state, RunValidationRecord::kStarted);
  EXPECT_EQ(rows[1].nodes, "c001");
}

// Slurm may be asked for a minute before a validation is stored.
TEST_F(FollowUpsTest, ACancelWhileTheValidationIsCreatedWins) {
  before_store_ = [this] { EXPECT_OK(validations_->Cancel("r-1", {"operator:alice", "peer"})); };
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  AnswerFacts();
  validations_->Reconcile();
  ASSERT_EQ(created_.size(), 1u) << "it was tried";
  before_store_ = nullptr;
  validations_->Reconcile();
  EXPECT_EQ(created_.size(), 1u) << "once";
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kNotStarted);
  EXPECT_EQ(Row("r-1").message, "cancelled by operator:alice");
}

TEST_F(FollowUpsTest, OnlyWhatAnEndedRunWaitsForCanBeTakenAway) {
  const Actor alice = {"operator:alice", "peer"};
  EXPECT_THAT(validations_->Cancel("r-9", alice), StatusIs(absl::StatusCode::kNotFound, _));
  RunRecord run;
  run.run_id = "r-1";
  run.state = RunRecord::kRunning;
  ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.runs().Put(run); }));
  EXPECT_THAT(validations_->Cancel("r-1", alice),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(FollowUpsTest, WhatCannotBeStartedIsToldAndNotTriedForever) {
  create_error_ = absl::InvalidArgumentError("c001: gpu_count is not a number");
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  AnswerFacts();
  validations_->Reconcile();
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kNotStarted);
  EXPECT_EQ(Row("r-1").message, "c001: gpu_count is not a number");
  EXPECT_THAT(Audit(), ElementsAre("validation.not_started r-1 suite acceptance on c[001-002]: "
                                   "c001: gpu_count is not a number"));
  create_error_ = absl::OkStatus();
  clock_.Advance(absl::Minutes(5));
  validations_->Reconcile();
  EXPECT_THAT(created_, IsEmpty());
}

TEST_F(FollowUpsTest, AStoreThatIsFullForAWhileIsWaitedFor) {
  create_error_ = absl::ResourceExhaustedError("disk full");
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  AnswerFacts();
  validations_->Reconcile();
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kWaiting);
  create_error_ = absl::OkStatus();
  validations_->Reconcile();
  EXPECT_EQ(created_.size(), 1u);
}

TEST_F(FollowUpsTest, OthersRequestsForFactsAreNotItsOwn) {
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  validations_->Reconcile();
  for (const char* id : {"r-1/0", "r-2", ""}) {
    validations_->OnFactsStored("u-c001", id);
    validations_->OnFactsStored("u-c002", id);
  }
  validations_->Reconcile();
  EXPECT_THAT(created_, IsEmpty());
}

TEST_F(FollowUpsTest, ItsThreadDoesAllThatByItself) {
  validations_->Start();
  EndRun("r-1");
  validations_->OnRunEnded("r-1");
  for (int i = 0; i < 10'000 && Row("r-1").state == RunValidationRecord::kWaiting; ++i) {
    AnswerFacts();
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_EQ(Row("r-1").state, RunValidationRecord::kStarted);
  validations_->Stop();
}

TEST(CheckEnding, RefusesWhatNoRunCouldEndWith) {
  const auto inventory = std::make_shared<const Inventory>(
      ParseInventory({{"cluster.yaml", "cluster: c\nnodes:\n  c001: {role: compute}\n"}}).value());
  const std::string head = "name: s\ndescription: d\n";
  const std::string stages = "stages: [{name: a, checks: [gpu-gemm]}]\n";
  const auto check = [&](const std::string& text) {
    return CheckEnding({{"playbooks/suites/s.yaml", text}}, "s", {"c001"}, inventory, kTestCatalog);
  };
  EXPECT_OK(check(head + "admits: true\n" + stages));
  EXPECT_THAT(check(head + stages), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(check(head + "admits: true\nstages: [{name: a, checks: [x]}]\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller::validation
