// Runs of playbooks that end with suites: which validations are created, of which nodes, and when.
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RunEndingsTest : public RunFixture {
 protected:
  void SetUp() override {
    RunFixture::SetUp();
    site_["ends.yaml"] = "first: a b c\nsecond: a b\n>acceptance: a b c\n";
    for (const char* name : {"a", "b", "c"}) Connect(name);
  }

  // Takes the named nodes through the play.
  void Finish(const std::string& run_id, uint32_t play, const std::vector<std::string>& nodes) {
    if (play > 0) AnswerFacts(run_id, play);
    for (const std::string& node : nodes) Complete(node, MustTakePlan(node).plan_id());
  }
  std::vector<RunValidationRecord> Asked(const std::string& run_id) {
    std::vector<RunValidationRecord> rows;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(rows, txn.run_validations().List(run_id));
      return absl::OkStatus();
    }));
    return rows;
  }
};

TEST_F(RunEndingsTest, AsksForTheSuiteWhenTheRunIsOver) {
  const std::string id = MustCreate("ends.yaml").run_id();
  Finish(id, 0, {"a", "b", "c"});
  EXPECT_THAT(Asked(id), IsEmpty());
  EXPECT_THAT(ended_, IsEmpty());
  Finish(id, 1, {"a", "b"});
  EXPECT_EQ(Run(id).state(), v1::RUN_STATE_SUCCEEDED);
  ASSERT_THAT(Asked(id), SizeIs(1));
  const RunValidationRecord row = Asked(id)[0];
  EXPECT_EQ(row.play, "play of acceptance");
  EXPECT_EQ(row.suite, "acceptance");
  EXPECT_EQ(row.nodes, "a,b,c");
  EXPECT_EQ(row.state, RunValidationRecord::kWaiting);
  EXPECT_THAT(ended_, ElementsAre(id));
  EXPECT_TRUE(free_when_ended_);
}

TEST_F(RunEndingsTest, OnlyNodesThatCameThroughAreValidated) {
  const std::string id = MustCreate("ends.yaml").run_id();
  ReportOutcome("a", MustTakePlan("a").plan_id(), /*succeeded=*/false);
  Finish(id, 0, {"c"});
  Cut("b");
  Pass(kReconnectGrace + absl::Seconds(2));
  EXPECT_EQ(Run(id).state(), v1::RUN_STATE_FAILED);
  ASSERT_THAT(Asked(id), SizeIs(1));
  EXPECT_EQ(Asked(id)[0].nodes, "c");
}

TEST_F(RunEndingsTest, NobodyIsValidatedWhenNobodyCameThrough) {
  site_["ends.yaml"] = "only: a\n>acceptance: a\n";
  const std::string id = MustCreate("ends.yaml").run_id();
  ReportOutcome("a", MustTakePlan("a").plan_id(), /*succeeded=*/false);
  EXPECT_EQ(Run(id).state(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(Asked(id), IsEmpty());
}

TEST_F(RunEndingsTest, ACancelledRunAsksForNothing) {
  const std::string id = MustCreate("ends.yaml").run_id();
  Finish(id, 0, {"c"});
  ASSERT_OK(engine_->Cancel(id, {{"admin:bob", ""}}));
  for (const char* name : {"a", "b"}) {
    ReportOutcome(name, id + "/0", /*succeeded=*/false, /*cancelled=*/true);
  }
  EXPECT_EQ(Run(id).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_THAT(Asked(id), IsEmpty());
}

TEST_F(RunEndingsTest, SuitesAreLeftOutOnRequest) {
  suite_errors_["acceptance"] = absl::InvalidArgumentError("nobody looks at it");
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("ends.yaml");
  request.set_skip_validation(true);
  const auto run = engine_->Create(request, {{"admin:alice", ""}});
  ASSERT_OK(run);
  AnswerFacts(run->run_id(), 0);
  Finish(run->run_id(), 0, {"a", "b", "c"});
  Finish(run->run_id(), 1, {"a", "b"});
  EXPECT_EQ(Run(run->run_id()).state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_THAT(Asked(run->run_id()), IsEmpty());
}

TEST_F(RunEndingsTest, ASuiteThatCannotFollowKeepsTheRunFromStarting) {
  suite_errors_["acceptance"] = absl::InvalidArgumentError("acceptance.yaml:3:1: no check 'x'");
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("ends.yaml");
  EXPECT_THAT(engine_->Create(request, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Runs(), IsEmpty());
}

TEST_F(RunEndingsTest, ARestartInBetweenLosesNothing) {
  const std::string id = MustCreate("ends.yaml").run_id();
  Finish(id, 0, {"a", "b", "c"});
  // A suite that was valid when the run began is not checked again.
  suite_errors_["acceptance"] = absl::InvalidArgumentError("another catalogue");
  Restart();
  for (const char* name : {"a", "b"}) Connect(name);
  Finish(id, 1, {"a", "b"});
  EXPECT_EQ(Run(id).state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_THAT(Asked(id), SizeIs(1));
  EXPECT_THAT(ended_, ElementsAre(id));
}

TEST_F(RunEndingsTest, ARunThatCatchesUpEndsTheSameWay) {
  site_["ends.yaml"] = "only: a b\n>acceptance: a b\n";
  Cut("b");
  const std::string id = MustCreate("ends.yaml").run_id();
  Finish(id, 0, {"a"});
  Pass(kPlayConnectGrace + absl::Seconds(2));
  ASSERT_THAT(Asked(id), SizeIs(1));
  EXPECT_EQ(Asked(id)[0].nodes, "a");
  Connect("b");
  Pass(kCatchUpDelay + absl::Seconds(2));
  ASSERT_THAT(Runs(), SizeIs(2));
  const std::string second = Runs()[0].run_id;
  AnswerFacts(second, 0);
  Finish(second, 0, {"b"});
  ASSERT_THAT(Asked(second), SizeIs(1));
  EXPECT_EQ(Asked(second)[0].nodes, "b");
}

}  // namespace
}  // namespace muster::controller
