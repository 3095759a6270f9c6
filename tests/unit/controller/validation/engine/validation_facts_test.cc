// Nodes are asked for their facts before their checks, and when all of them have ended.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/session/facts_round.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string AtStart(const std::string& id) {
  return ToRequestId({FactsRequest::Owner::kValidationStart, id});
}
std::string AtEnd(const std::string& id) {
  return ToRequestId({FactsRequest::Owner::kValidationEnd, id});
}

class ValidationFactsTest : public ValidationEngineTest {
 protected:
  // On c001 only; does not answer any question afterwards.
  std::string PassTheCheck() {
    const std::string id = Create("probe", "c001").value();
    v1::CheckReport report;
    report.set_check_id(Only("u-c001").start_check().check_id());
    report.mutable_result()->set_check("probe");
    report.mutable_result()->set_outcome(v1::OUTCOME_PASS);
    engine_->OnReport("u-c001", report);
    engine_->Flush();
    return id;
  }
  // Like the keeper of facts when they have arrived.
  void Answer(const std::string& request_id, int gpus) {
    PutFacts(gpus);
    engine_->OnFactsStored("u-c001", ParseFactsRequest(request_id).value());
    engine_->Flush();
  }
  void PutFacts(int gpus) {
    v1::Facts facts;
    facts.mutable_os()->set_kernel("6.1.0");
    facts.set_nvidia_driver_version("550.1");
    for (int i = 1; i <= gpus; ++i) facts.add_gpus()->set_uuid("GPU-" + std::to_string(i));
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.nodes().PutFacts("u-c001", facts.SerializeAsString());
    }));
  }
  bool HasPass() {
    bool has = false;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      has = txn.node_service().GetPass("u-c001").ok();
      return absl::OkStatus();
    }));
    return has;
  }
};

TEST_F(ValidationFactsTest, AGpuThatIsLostAfterItsLastCheckHasNotPassed) {
  const std::string id = PassTheCheck();
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_RUNNING);
  EXPECT_THAT(Create("probe", "c001"), testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                                         AllOf(Said(), HasSubstr(id))));
  const std::vector<std::string> asked = sessions_.TakeFactsRequests("u-c001");
  ASSERT_THAT(asked, ElementsAre(AtEnd(id)));
  Answer(AtEnd("v-other"), 2);  // an answer to another's question does not count
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_RUNNING);
  Answer(asked[0], 1);
  const v1::Validation done = engine_->Get(id).value();
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(done.nodes(0).outcome(), v1::OUTCOME_UNKNOWN);
  ASSERT_THAT(done.nodes(0).checks(), SizeIs(2));
  EXPECT_EQ(done.nodes(0).checks(1).check(), "same-machine");
  EXPECT_THAT(done.nodes(0).checks(1).reason(), Said());
  EXPECT_FALSE(HasPass());
}

// The driver was loaded by hand, or a card put in, since its last report.
TEST_F(ValidationFactsTest, WhatIsNewSinceBeforeTheStartIsNoChange) {
  for (const bool restarts : {false, true}) {
    PutFacts(1);
    answers_facts_ = false;
    const std::string id = Create("probe", "c001").value();
    ASSERT_THAT(sessions_.TakeFactsRequests("u-c001"), ElementsAre(AtStart(id)));
    Answer(AtStart(id), 2);
    const std::string check = Only("u-c001").start_check().check_id();
    if (restarts) {
      Open();
      v1::Hello hello;
      hello.add_check_ids(check);
      engine_->OnConnected("u-c001", hello);
    }
    Report("u-c001", check, v1::OUTCOME_PASS);
    Answer(AtEnd(id), 2);
    EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS) << restarts;
    sessions_.Take("u-c001");
  }
}

// A report after a minute may already show the consequences.
TEST_F(ValidationFactsTest, ALateAnswerDoesNotHideALoss) {
  answers_facts_ = false;
  const std::string id = Create("probe", "c001").value();
  sessions_.TakeFactsRequests("u-c001");
  const std::string check = Only("u-c001").start_check().check_id();
  clock_.Advance(kFactsWait);
  Answer(AtStart(id), 1);
  Report("u-c001", check, v1::OUTCOME_PASS);
  Answer(AtEnd(id), 1);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_UNKNOWN);
}

TEST_F(ValidationFactsTest, ANodeThatIsWhatItWasPassesAtOnce) {
  const std::string id = PassTheCheck();
  Answer(AtEnd(id), 2);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS);
  EXPECT_TRUE(HasPass());
}

TEST_F(ValidationFactsTest, ANodeThatDoesNotSayWhatItIsHasNotPassed) {
  const std::string id = PassTheCheck();
  clock_.Advance(kFactsWait - absl::Seconds(1));
  engine_->Tick();
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_RUNNING);
  clock_.Advance(absl::Seconds(1));
  engine_->Tick();
  const v1::Validation done = engine_->Get(id).value();
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(done.nodes(0).outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(done.nodes(0).checks(1).reason(), Said());
  EXPECT_FALSE(HasPass());
}

// Its link is down just when it is asked, or the controller is.
TEST_F(ValidationFactsTest, ANodeThatComesBackInTimeIsAskedAgain) {
  for (const bool restarts : {false, true}) {
    const std::string id = PassTheCheck();
    sessions_.Take("u-c001");
    sessions_.Cut("u-c001");
    engine_->OnDisconnected("u-c001");
    clock_.Advance(kFactsWait - absl::Seconds(5));
    if (restarts) Open();
    engine_->Tick();
    EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_RUNNING);
    sessions_.Connect("u-c001");
    engine_->OnConnected("u-c001", v1::Hello());
    SettleWithFacts();
    EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS) << restarts;
  }
}

TEST_F(ValidationFactsTest, WhoCannotPassIsNotAsked) {
  const std::string failed = Create("probe", "c001").value();
  v1::CheckReport report;
  report.set_check_id(Only("u-c001").start_check().check_id());
  report.mutable_result()->set_check("probe");
  report.mutable_result()->set_outcome(v1::OUTCOME_FAIL);
  engine_->OnReport("u-c001", report);
  engine_->Flush();
  EXPECT_EQ(engine_->Get(failed)->state(), v1::VALIDATION_STATE_DONE);
  EXPECT_THAT(sessions_.TakeFactsRequests("u-c001"), IsEmpty());
}

TEST_F(ValidationFactsTest, NothingIsLeftToCancelWhileNodesSayWhatTheyAre) {
  const std::string id = PassTheCheck();
  EXPECT_THAT(engine_->Cancel(id, {"operator:bob", "peer"}),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  SettleWithFacts();
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS);
}

}  // namespace
}  // namespace muster::controller::validation
