// Checks that are still running when nobody waits for them any longer, and repeated reports.
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/failing_store.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ValidationStraysTest : public ValidationEngineTest {
 protected:
  ValidationStraysTest() {
    auto store = std::make_unique<muster::testing::FailingStore>(std::move(store_));
    failing_ = store.get();
    store_ = std::move(store);
    Open();
  }

  void Lose(const std::string& uuid) {
    sessions_.Cut(uuid);
    engine_->OnDisconnected(uuid);
    engine_->Flush();
  }
  // It still has the check.
  void Return(const std::string& uuid, const std::string& check_id) {
    sessions_.Connect(uuid);
    v1::Hello hello;
    hello.add_check_ids(check_id);
    engine_->OnConnected(uuid, hello);
    engine_->Flush();
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    engine_->Tick();
  }
  v1::ValidationState StateOf(const std::string& id) { return engine_->Get(id)->state(); }

  muster::testing::FailingStore* failing_;
};

TEST_F(ValidationStraysTest, ACheckThatWasCancelledWhileItsNodeWasAwayIsStoppedWhenItIsBack) {
  const std::string id = Create("probe", "c001").value();
  const std::string check = Only("u-c001").start_check().check_id();
  Lose("u-c001");
  ASSERT_OK(engine_->Cancel(id, {"operator:bob", ""}));
  EXPECT_EQ(StateOf(id), v1::VALIDATION_STATE_CANCELLED);
  Return("u-c001", check);
  const v1::StopCheck stop = Only("u-c001").stop_check();
  EXPECT_EQ(stop.check_id(), check);
  EXPECT_THAT(stop.reason(), Said());
}

TEST_F(ValidationStraysTest, ACheckOfANodeThatWasGivenUpIsStoppedWhenItIsBack) {
  site_["playbooks/suites/long.yaml"] =
      "name: long\ndescription: d\nstages:\n"
      "  - {name: first, checks: [{check: probe, time_limit: 8h}]}\n";
  const std::string id = Create("long").value();
  const std::string lost = Only("u-c001").start_check().check_id();
  const std::string runs = Only("u-c002").start_check().check_id();
  Lose("u-c001");
  Pass(kLostGrace);
  EXPECT_EQ(StateOf(id), v1::VALIDATION_STATE_RUNNING);
  Return("u-c002", runs);
  EXPECT_THAT(sessions_.Take("u-c002"), IsEmpty()) << "it is waited for";
  Return("u-c001", lost);
  EXPECT_EQ(Only("u-c001").stop_check().check_id(), lost);
}

TEST_F(ValidationStraysTest, AfterARestartOnlyWhatNobodyWaitsForIsStopped) {
  ASSERT_OK(Create("probe", "c001"));
  const std::string check = Only("u-c001").start_check().check_id();
  Open();
  Return("u-c001", check);
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  Return("u-c002", check);  // another node's
  EXPECT_EQ(Only("u-c002").stop_check().check_id(), check);
  Return("u-c002", "v-gone/0.0.0.0/c002");
  EXPECT_EQ(Only("u-c002").stop_check().check_id(), "v-gone/0.0.0.0/c002");
}

TEST_F(ValidationStraysTest, AStopThatFindsNoRoomIsSentLater) {
  sessions_.Clog("u-c001", true);
  Return("u-c001", "v-gone/0.0.0.0/c001");
  Pass(absl::Seconds(1));
  sessions_.Clog("u-c001", false);
  Pass(absl::Seconds(1));
  EXPECT_EQ(Only("u-c001").stop_check().check_id(), "v-gone/0.0.0.0/c001");
  Pass(absl::Seconds(1));
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty()) << "once is enough";
}

TEST_F(ValidationStraysTest, NodesOfACancelledValidationAreBusyUntilTheirChecksHaveStopped) {
  const std::string id = Create("probe", "c001").value();
  const std::string check = Only("u-c001").start_check().check_id();
  ASSERT_OK(engine_->Cancel(id, {"operator:bob", ""}));
  EXPECT_TRUE(Only("u-c001").has_stop_check());
  EXPECT_EQ(StateOf(id), v1::VALIDATION_STATE_RUNNING);
  EXPECT_THAT(Create("probe", "c001"),
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(Said(), HasSubstr(id))));
  Report("u-c001", check, v1::OUTCOME_UNKNOWN, "stopped");
  EXPECT_EQ(Only("u-c001").check_report_stored().check_id(), check);
  EXPECT_EQ(StateOf(id), v1::VALIDATION_STATE_CANCELLED);
  EXPECT_OK(Create("probe", "c001"));
}

TEST_F(ValidationStraysTest, AnAgentThatDoesNotStopHoldsItsNodeForABoundedTime) {
  const std::string id = Create("probe", "c001").value();
  ASSERT_OK(engine_->Cancel(id, {"operator:bob", ""}));
  Pass(kStopGrace - absl::Seconds(1));
  EXPECT_EQ(StateOf(id), v1::VALIDATION_STATE_RUNNING);
  Pass(absl::Seconds(1));
  EXPECT_EQ(StateOf(id), v1::VALIDATION_STATE_CANCELLED);
}

TEST_F(ValidationStraysTest, ANodeThatIsLostOrForgotItsCheckIsNotWaitedFor) {
  for (const bool comes_back : {false, true}) {
    const std::string id = Create("probe", "c001").value();
    ASSERT_OK(engine_->Cancel(id, {"operator:bob", ""}));
    ASSERT_EQ(StateOf(id), v1::VALIDATION_STATE_RUNNING);
    if (comes_back) {
      Return("u-c001", "v-other/0.0.0.0/c001");
    } else {
      Lose("u-c001");
    }
    EXPECT_EQ(StateOf(id), v1::VALIDATION_STATE_CANCELLED);
    sessions_.Connect("u-c001");
  }
}

TEST_F(ValidationStraysTest, ARepeatedReportIsNotAcknowledgedBeforeItIsStored) {
  ASSERT_OK(Create("probe", "c001"));
  const std::string check = Only("u-c001").start_check().check_id();
  failing_->refuse = true;
  Report("u-c001", check, v1::OUTCOME_FAIL, "bits");
  Report("u-c001", check, v1::OUTCOME_FAIL, "bits");
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  failing_->refuse = false;
  Pass(absl::Seconds(1));
  EXPECT_EQ(Only("u-c001").check_report_stored().check_id(), check);
  ASSERT_OK(store_->View(
      [&](Transaction& txn) { return txn.validation_checks().GetResult(check).status(); }));
  Report("u-c001", check, v1::OUTCOME_FAIL, "bits");  // the acknowledgement was lost
  EXPECT_EQ(Only("u-c001").check_report_stored().check_id(), check);
}

}  // namespace
}  // namespace muster::controller::validation
