// A restarted controller continues its validations as they were created.
#include <sys/resource.h>

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/checks/power_samples.h"
#include "tests/fakes/failing_store.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ValidationRestartTest : public ValidationEngineTest {
 protected:
  ValidationRestartTest() {
    site_["playbooks/suites/gpus.yaml"] =
        "name: gpus\ndescription: d\nstages:\n"
        "  - {name: one, checks: [{check: probe, when: gpus}]}\n"
        "  - {name: two, checks: [{check: probe, when: several_gpus}]}\n";
  }

  void PutFacts(const char* uuid, const v1::Facts& facts) {
    ASSERT_OK(store_->Update(
        [&](Transaction& txn) { return txn.nodes().PutFacts(uuid, facts.SerializeAsString()); }));
  }
  // `check_id` is the check that the agent is still running.
  void Restart(const std::string& check_id) {
    Open();
    v1::Hello hello;
    hello.add_check_ids(check_id);
    engine_->OnConnected("u-c001", hello);
    engine_->Flush();
  }
};

TEST_F(ValidationRestartTest, AGpuThatFellOffMeanwhileChangesNoChecks) {
  const std::string id = Create("gpus", "c001").value();
  const std::string first = Only("u-c001").start_check().check_id();
  PutFacts("u-c001", v1::Facts());  // GPUs are gone
  Restart(first);
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  Report("u-c001", first, v1::OUTCOME_PASS);
  const std::vector<v1::ControllerMessage> messages = sessions_.Take("u-c001");
  ASSERT_THAT(messages, SizeIs(2));  // the acknowledgement, and the next check
  const v1::StartCheck& second = messages[1].start_check();
  EXPECT_EQ(second.check(), "probe");
  Report("u-c001", second.check_id(), v1::OUTCOME_PASS);
  const v1::Validation done = engine_->Get(id).value();
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  ASSERT_THAT(done.nodes(0).checks(), SizeIs(3));
  EXPECT_EQ(done.nodes(0).checks(1).outcome(), v1::OUTCOME_PASS);
  // It is no longer the machine that passed them.
  EXPECT_EQ(done.nodes(0).checks(2).check(), "same-machine");
  EXPECT_EQ(done.nodes(0).outcome(), v1::OUTCOME_UNKNOWN);
}

TEST_F(ValidationRestartTest, WhatIsForcedStaysForced) {
  ASSERT_OK(Create("gpus", "c001", /*force=*/true).status());
  const v1::StartCheck first = Only("u-c001").start_check();
  EXPECT_TRUE(first.force());
  Restart(first.check_id());
  Report("u-c001", first.check_id(), v1::OUTCOME_PASS);
  const std::vector<v1::ControllerMessage> messages = sessions_.Take("u-c001");
  ASSERT_THAT(messages, SizeIs(2));  // the acknowledgement, and the next check
  EXPECT_TRUE(messages[1].start_check().force());
}

TEST_F(ValidationRestartTest, AGpuThatCameMeanwhileChangesNoChecks) {
  PutFacts("u-c001", v1::Facts());
  site_["playbooks/suites/gpus.yaml"] =
      "name: gpus\ndescription: d\nstages:\n"
      "  - {name: all, checks: [probe]}\n"
      "  - {name: gpus, checks: [{check: probe, when: gpus}]}\n";
  const std::string id = Create("gpus", "c001").value();
  const std::string first = Only("u-c001").start_check().check_id();
  v1::Facts facts;
  facts.add_gpus()->set_uuid("GPU-1");
  PutFacts("u-c001", facts);
  Restart(first);
  Report("u-c001", first, v1::OUTCOME_PASS);
  const v1::Validation done = engine_->Get(id).value();
  ASSERT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  ASSERT_THAT(done.nodes(0).checks(), SizeIs(2));
  EXPECT_EQ(done.nodes(0).checks(1).outcome(), v1::OUTCOME_SKIPPED);
}

TEST_F(ValidationRestartTest, AnotherMachineUnderTheNameIsNotTheOneThatIsTested) {
  const std::string id = Create("probe", "c001").value();
  const std::string first = Only("u-c001").start_check().check_id();
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord old, txn.nodes().Get("u-c001"));
    old.state = NodeRecord::kRemoved;
    RETURN_IF_ERROR(txn.nodes().Put(old));
    old.uuid = "u-new";
    old.state = NodeRecord::kConfigured;
    return txn.nodes().Put(old);
  }));
  Open();
  sessions_.Connect("u-new");
  engine_->OnConnected("u-new", v1::Hello());
  engine_->Flush();
  EXPECT_THAT(sessions_.Take("u-new"), IsEmpty());
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_RUNNING);
}

// The suite has changed: existing findings remain.
TEST_F(ValidationRestartTest, WhatCannotGoOnEndsWithTheFailsThatWereStored) {
  const std::string before = Create("probe").value();
  Report("u-c001", Only("u-c001").start_check().check_id(), v1::OUTCOME_PASS);
  Report("u-c002", Only("u-c002").start_check().check_id(), v1::OUTCOME_PASS);
  const std::string id = Create("gpus").value();
  sessions_.Take("u-c002");
  const std::vector<v1::ControllerMessage> messages = sessions_.Take("u-c001");
  ASSERT_FALSE(messages.empty());
  Report("u-c001", messages.back().start_check().check_id(), v1::OUTCOME_FAIL, "bits");
  gate_.judged.clear();
  site_["playbooks/suites/gpus.yaml"] += "# changed\n";
  Open();
  const v1::Validation done = engine_->Get(id).value();
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_CANCELLED);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOfNode(id, "c002"), v1::OUTCOME_UNKNOWN);
  ASSERT_THAT(done.nodes(0).checks(), SizeIs(1));
  EXPECT_EQ(done.nodes(0).checks(0).reason(), "bits");
  EXPECT_EQ(gate_.judged["u-c001"], v1::OUTCOME_FAIL);
  EXPECT_EQ(gate_.judged["u-c002"], v1::OUTCOME_UNKNOWN);
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    EXPECT_TRUE(absl::IsNotFound(txn.node_service().GetPass("u-c001").status()));
    EXPECT_EQ(txn.node_service().GetPass("u-c002")->validation_id, before);
    return absl::OkStatus();
  }));
}

// A tool locks the file for a moment: that must not end a validation.
TEST_F(ValidationRestartTest, AValidationOutlivesAStoreThatIsLocked) {
  auto failing = std::make_unique<testing::FailingStore>(std::move(store_));
  testing::FailingStore& store = *failing;
  store_ = std::move(failing);
  Open();
  const std::string id = Create("probe").value();
  for (int view = 1; view <= 5; ++view) {
    claims_ = std::make_unique<NodeClaims>();
    engine_ = std::make_unique<ValidationEngine>(Collaborators());
    store.Refuse(view, 1);
    EXPECT_THAT(engine_->Resume(), testing::StatusIs(absl::StatusCode::kUnavailable, Said()))
        << view;
  }
  Open();
  EXPECT_EQ(engine_->Get(id).value().state(), v1::VALIDATION_STATE_RUNNING);
}

TEST_F(ValidationRestartTest, AFailedPairWithoutTheOthersBlamesNobody) {
  const std::string id = Create("link").value();
  v1::CheckReport report;
  report.set_check_id(Only("u-c001").start_check().check_id());
  report.mutable_result()->set_check("link");
  report.mutable_result()->set_outcome(v1::OUTCOME_FAIL);
  engine_->OnReport("u-c001", report);
  SettleWithFacts();
  site_["playbooks/suites/link.yaml"] += "# changed\n";
  Open();
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(engine_->Get(id)->nodes(0).checks(0).partner(), "c002");
}

TEST_F(ValidationRestartTest, ADamagedResultCostsNothingButItsDetails) {
  const std::string id = Create("gpus", "c001").value();
  const std::string first = Only("u-c001").start_check().check_id();
  Report("u-c001", first, v1::OUTCOME_FAIL, "bits");
  const std::string second = sessions_.Take("u-c001").back().start_check().check_id();
  ASSERT_OK(store_->Update([&](Transaction& txn) {
    return txn.validation_checks().PutResult({first, clock_.Now(), "damaged"});
  }));
  Restart(second);
  Report("u-c001", second, v1::OUTCOME_PASS);
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_FAIL);
}

// The link or the controller came back long after the time of the check: the agent's result counts
// nevertheless.
TEST_F(ValidationRestartTest, AReportThatWaitedOnTheNodeCounts) {
  const std::string id = Create("probe", "c001").value();
  const std::string first = Only("u-c001").start_check().check_id();
  clock_.Advance(absl::Minutes(10));
  Open();
  engine_->Tick();  // before any agent is back
  v1::Hello hello;
  hello.add_check_ids(first);
  engine_->OnConnected("u-c001", hello);
  engine_->Tick();
  Report("u-c001", first, v1::OUTCOME_PASS);
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS);
}

// It was stopped because of its rack, which is not a verdict, whoever learns of its end.
TEST_F(ValidationRestartTest, ACheckThatWasStoppedToSavePowerIsStartedAgain) {
  PutIntoRack(1500);
  const std::string id = Create("burn").value();
  const std::string older = Only("u-c001").start_check().check_id();
  clock_.Advance(absl::Seconds(6));
  engine_->Tick();
  const std::string newer = Only("u-c002").start_check().check_id();
  // A single reading would be an error of its sensor.
  for (int i = 0; i < 2; ++i) {
    engine_->OnUpdate("u-c001", Draws(older, checks::kPowerOfNode, 1000));
  }
  engine_->Flush();
  ASSERT_EQ(Only("u-c002").stop_check().check_id(), newer);
  Restart(older);
  v1::Hello hello;
  hello.add_check_ids(newer);
  engine_->OnConnected("u-c002", hello);
  Report("u-c002", newer, v1::OUTCOME_UNKNOWN, "stopped");
  Report("u-c001", older, v1::OUTCOME_PASS);
  clock_.Advance(absl::Seconds(6));
  engine_->Tick();
  const std::vector<v1::ControllerMessage> messages = sessions_.Take("u-c002");
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back().start_check().check_id(), absl::StrCat(id, "/0.0.0.1/c002"));
}

// Curves are megabytes each: neither the data read after a restart nor the data judged at the end
// may be that of all nodes at once.
TEST_F(ValidationRestartTest, MemoryDoesNotGrowWithTheCurvesOfAllNodes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps what was given back";
#endif
  constexpr int kNodes = 24;  // 5 MiB each
  const auto largest_mib = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  std::string inventory = "cluster: test\nnodes:\n";
  for (int i = 1; i <= kNodes; ++i) {
    NodeRecord node;
    node.name = absl::StrCat("c", 100 + i);
    node.uuid = absl::StrCat("u-", node.name);
    node.state = NodeRecord::kConfigured;
    absl::StrAppend(&inventory, "  ", node.name, ": {role: compute, address: 10.0.1.", i, "}\n");
    ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.nodes().Put(node); }));
    PutFacts(node.uuid.c_str(), v1::Facts());
    sessions_.Connect(node.uuid);
  }
  inventory_ =
      std::make_shared<const Inventory>(ParseInventory({{"cluster.yaml", inventory}}).value());
  const std::string id = Create("probe").value();
  v1::CheckReport report;
  report.mutable_result()->set_check("probe");
  report.mutable_result()->set_outcome(v1::OUTCOME_PASS);
  for (int i = 0; i < 20'000; ++i) {
    v1::Sample& sample = *report.mutable_result()->add_samples();
    sample.set_subject("GPU-00000000-0000-0000-0000-000000000001");
    sample.set_metric("power_watts");
    sample.set_value(250);
  }
  const auto tell = [&](int i) {
    const std::string uuid = absl::StrCat("u-c", 100 + i);
    report.set_check_id(absl::StrCat(id, "/0.0.0.0/c", 100 + i));
    engine_->OnReport(uuid, report);
    SettleWithFacts();
  };
  for (int i = 1; i < kNodes; ++i) tell(i);
  const long before = largest_mib();
  Open();
  EXPECT_LT(largest_mib() - before, 40);
  v1::Hello hello;
  hello.add_check_ids(absl::StrCat(id, "/0.0.0.0/c", 100 + kNodes));
  engine_->OnConnected(absl::StrCat("u-c", 100 + kNodes), hello);
  tell(kNodes);
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_DONE);
  EXPECT_LT(largest_mib() - before, 40);
}

}  // namespace
}  // namespace muster::controller::validation
