// Enrolled nodes that report on foreign plans, repeat themselves, or send more than fits.
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/run/reboot_permits.h"
#include "controller/run/report_inbox.h"
#include "controller/run/run_manager.h"
#include "muster/v1/plan.pb.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RunHostileTest : public RunFixture {
 protected:
  v1::Report Report(const std::string& plan, uint64_t sequence) {
    v1::Report report;
    report.set_plan_id(plan);
    report.set_report_sequence(sequence);
    return report;
  }
  void Say(const std::string& uuid, const v1::Report& report) {
    engine_->OnReports({{uuid, std::make_shared<const v1::Report>(report)}});
  }
  size_t Audited(const std::string& action) {
    size_t count = 0;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<EventRecord> events, txn.events().List(10'000, 0));
      for (const EventRecord& event : events) count += event.action == action;
      return absl::OkStatus();
    }));
    return count;
  }
  // Over all nodes.
  std::vector<StepResultRecord> Results(const std::string& run_id) {
    std::vector<StepResultRecord> results;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(results, txn.step_results().ListNewest(run_id, 200'000, size_t{1} << 30));
      return absl::OkStatus();
    }));
    return results;
  }
  size_t StoredResults(const std::string& run_id) { return Results(run_id).size(); }
  // Reports of so many changed steps, each with a diff and an output of `output_bytes`.
  void SayMuch(const std::string& plan, int count, size_t output_bytes, size_t message_bytes) {
    std::vector<NodeReport> reports;
    for (int i = 0; i < count; ++i) {
      v1::Report report = Report(plan, ++said_);
      report.mutable_step()->set_step_id(absl::StrCat("s", said_));
      report.mutable_step()->set_status(v1::STEP_STATUS_CHANGED);
      report.mutable_step()->set_message(std::string(message_bytes, 'm'));
      report.mutable_step()->set_output(std::string(output_bytes, 'x'));
      if (output_bytes > 0)
        report.mutable_step()->add_changes()->set_diff(std::string(output_bytes, 'x'));
      reports.push_back({"ua", std::make_shared<const v1::Report>(std::move(report))});
    }
    engine_->OnReports(std::move(reports));
  }

  uint64_t said_ = 0;  // reports of SayMuch()
};

TEST_F(RunHostileTest, ReportsOnAnotherNodesPlanChangeNothing) {
  Connect("a");
  Connect("b");
  const v1::Run run = MustCreate("one.yaml", "a");
  const std::string plan = run.run_id() + "/0";
  sessions_.Take("ub");
  v1::Report step = Report(plan, 1);
  step.mutable_step()->set_step_id("role/step");
  step.mutable_step()->set_status(v1::STEP_STATUS_FAILED);
  Say("ub", step);
  v1::Report outcome = Report(plan, 2);
  outcome.mutable_outcome()->set_succeeded(false);
  Say("ub", outcome);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "running ok=0 changed=0 failed=0");
  EXPECT_EQ(StateOf(run.run_id(), "b"), "not in the run");
  EXPECT_EQ(StoredResults(run.run_id()), 0u);
  // Including plans that never existed.
  for (const char* made_up : {"r-none/0", "nonsense", "", "/", "r-1/99999999999999999999"})
    Say("ub", Report(made_up, NodeOf("b").report_sequence + 1));
  // The agent may forget them all.
  EXPECT_EQ(sessions_.Take("ub").back().reports_stored().up_to_sequence(), 7u);
  Complete("a", plan);
  EXPECT_EQ(Run(run.run_id()).state(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(RunHostileTest, ReceiptForAnotherNodesPlanChangesNothing) {
  Connect("a");
  Connect("b");
  const v1::Run run = MustCreate("one.yaml", "a");
  v1::PlanReceipt receipt;
  receipt.set_plan_id(run.run_id() + "/0");
  receipt.set_accepted(false);
  receipt.set_reason("I say so");
  engine_->OnPlanReceipt("ub", receipt);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "running ok=0 changed=0 failed=0");
  // A receipt for a future play does not count either.
  receipt.set_plan_id(run.run_id() + "/7");
  engine_->OnPlanReceipt("ua", receipt);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "running ok=0 changed=0 failed=0");
}

TEST_F(RunHostileTest, SequenceThatWasSeenIsNotReadAgain) {
  Connect("a");
  const v1::Run run = MustCreate("one.yaml", "a");
  const std::string plan = run.run_id() + "/0";
  ReportStep("a", plan, v1::STEP_STATUS_OK);
  ReportStep("a", plan, v1::STEP_STATUS_CHANGED, "role/other");
  sessions_.Take("ua");
  v1::Report replay = Report(plan, 1);  // with different content
  replay.mutable_outcome()->set_succeeded(false);
  Say("ua", replay);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "running ok=1 changed=1 failed=0");
  EXPECT_EQ(sessions_.Take("ua").back().reports_stored().up_to_sequence(), 2u);
  ReportOutcome("a", plan, true);
  v1::Report late = Report(plan, 3);
  late.mutable_outcome()->set_succeeded(false);
  Say("ua", late);
  EXPECT_EQ(StateOf(run.run_id(), "a"), "done ok=1 changed=1 failed=0");
}

TEST_F(RunHostileTest, StepsBeyondWhatPlansHaveAreNotKept) {
  Connect("a");
  const std::string run_id = MustCreate("one.yaml", "a").run_id();
  SayMuch(absl::StrCat(run_id, "/0"), 100'003, 0, 0);
  EXPECT_EQ(StoredResults(run_id), 100'000u);
  EXPECT_EQ(NodeOf("a").report_sequence, 100'003u);  // the agent may forget them
}

TEST_F(RunHostileTest, ResultsOfANodeHaveALimitInBytes) {
  Connect("a");
  const std::string run_id = MustCreate("one.yaml", "a").run_id();
  const std::string plan = absl::StrCat(run_id, "/0");
  const auto stored = [&] {
    size_t bytes = 0;
    for (const StepResultRecord& result : Results(run_id)) bytes += result.result.size();
    return bytes;
  };
  SayMuch(plan, 300, 64 << 10, 0);
  EXPECT_EQ(StoredResults(run_id), 300u);
  EXPECT_LE(stored(), size_t{34} << 20);
  v1::StepResult last;
  ASSERT_TRUE(last.ParseFromString(Results(run_id).back().result));
  EXPECT_EQ(last.changes_size(), 0);
  EXPECT_THAT(last.output(), HasSubstr("are not kept"));
  EXPECT_EQ(last.status(), v1::STEP_STATUS_CHANGED);
  // The end of the run gives no second allowance.
  v1::Report end = Report(plan, ++said_);
  end.mutable_outcome()->set_succeeded(true);
  Say("ua", end);
  ASSERT_EQ(Run(run_id).state(), v1::RUN_STATE_SUCCEEDED);
  SayMuch(plan, 5000, 16, 8000);
  EXPECT_LE(stored(), size_t{65} << 20);
  EXPECT_LT(StoredResults(run_id), 5000u);
}

TEST_F(RunHostileTest, ResultsOfAPlayThatNamesOthersAreNotKept) {
  Connect("a");
  const std::string run_id = MustCreate("one.yaml", "a").run_id();
  SayMuch(absl::StrCat(run_id, "/7"), 1, 0, 0);
  EXPECT_EQ(StoredResults(run_id), 0u);
}

TEST_F(RunHostileTest, LongErrorsAreCutWhereACharacterEnds) {
  Connect("a");
  const v1::Run run = MustCreate("one.yaml", "a");
  v1::Report report = Report(run.run_id() + "/0", 1);
  std::string message;
  while (message.size() < 2 * kMaxNodeMessage) message += "ä";
  report.mutable_step()->set_role("r");  // "r: s: ": an even number of bytes
  report.mutable_step()->set_name("s");
  report.mutable_step()->set_status(v1::STEP_STATUS_FAILED);
  report.mutable_step()->set_message(message);
  Say("ua", report);
  const std::string kept = Run(run.run_id()).nodes(0).message();
  EXPECT_LE(kept.size(), kMaxNodeMessage + 3);
  EXPECT_THAT(kept, EndsWith("ä…"));
  EXPECT_THAT(NodeMessage("x" + message), EndsWith("ä…"));  // the cut falls within a character
}

TEST_F(RunHostileTest, QuestionsAboutRebootsLeaveABoundedNumberOfLines) {
  Connect("a");
  const v1::Run run = MustCreate("one.yaml", "a");
  v1::RebootRequest request;
  request.set_plan_id(run.run_id() + "/0");
  request.set_step_id("role/step");
  request.set_boot_id("boot");
  sessions_.Take("ua");
  for (int i = 0; i < 3 * RebootPermits::kMaxQuestions; ++i) {
    request.set_request_id(absl::StrCat("q", i));
    engine_->OnRebootRequest("ua", request);
  }
  EXPECT_EQ(Audited("reboot.refuse"), static_cast<size_t>(RebootPermits::kMaxQuestions));
  EXPECT_THAT(sessions_.Take("ua"), SizeIs(3 * RebootPermits::kMaxQuestions));
}

// The engine's thread is not running: messages wait.
TEST_F(RunHostileTest, QuestionsThatWaitAreCharged) {
  Connect("a");
  Connect("b");
  RunManager manager(Collaborators());
  v1::RebootRequest request;
  for (size_t i = 0; i <= RunManager::kMaxQueuedOfNode; ++i) manager.OnRebootRequest("ua", request);
  EXPECT_FALSE(sessions_.IsConnected("ua"));
  EXPECT_TRUE(sessions_.IsConnected("ub"));
}

// Two MiB on the wire that are seventy in memory.
TEST_F(RunHostileTest, ReportsAreChargedForWhatTheyTake) {
  Connect("a");
  Connect("b");
  RunManager manager(Collaborators());
  v1::Report bloated;
  for (int i = 0; i < 300'000; ++i) bloated.mutable_step()->add_changes();
  ASSERT_LT(bloated.ByteSizeLong(), size_t{1} << 20);
  ASSERT_GT(bloated.SpaceUsedLong(), RunManager::kMaxQueuedBytesOfNode);
  manager.OnReports("ua", InOneMessage(bloated));
  EXPECT_FALSE(sessions_.IsConnected("ua"));
  manager.OnReports("ub", InOneMessage(Report("r-1/0", 1)));
  EXPECT_TRUE(sessions_.IsConnected("ub"));
}

// A huge one beside it would be kept without being counted.
TEST_F(RunHostileTest, AReportThatWaitsDoesNotKeepItsMessage) {
  auto message = std::make_shared<v1::Reports>();
  *message->add_reports() = Report("r-1/0", 1);
  std::vector<std::string> seen;
  absl::Status store = absl::UnavailableError("the disk is full");
  ReportInbox inbox(sessions_, [&](absl::Span<const NodeReport> reports) {
    for (const NodeReport& each : reports)
      if (store.ok()) seen.push_back(each.uuid + " " + each.report->plan_id());
    return store;
  });
  inbox.Take({{"ua", {message, &message->reports(0)}}});
  EXPECT_EQ(message.use_count(), 1);
  store = absl::OkStatus();
  inbox.Retry();
  EXPECT_THAT(seen, ElementsAre("ua r-1/0"));
}

}  // namespace
}  // namespace muster::controller
