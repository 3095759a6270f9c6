#include "agent/state/journal.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/state/journal_codec.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNode[] = "6a1f0d0e-0000-4000-8000-000000000001";

v1::Plan MakePlan(uint64_t sequence) {
  v1::Plan plan;
  plan.set_plan_id(absl::StrCat("r-", sequence, "/0"));
  plan.set_sequence(sequence);
  plan.set_node_uuid(kNode);
  plan.set_play_name("hush-hush password");
  return plan;
}

v1::StepResult Result(const std::string& id, v1::StepStatus status) {
  v1::StepResult result;
  result.set_step_id(id);
  result.set_status(status);
  return result;
}

class JournalTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Journal>> TryOpen(const std::string& node = kNode) {
    return Journal::Open(
        {.directory = dir_.path(), .node_uuid = node, .failpoint = [this] { return failpoint_; }},
        clock_);
  }
  std::unique_ptr<Journal> Open(const std::string& node = kNode) {
    auto journal = TryOpen(node);
    EXPECT_OK(journal);
    return *std::move(journal);
  }
  std::string Path() const { return dir_.path() + "/journal"; }
  std::string Bytes() const {
    std::ifstream in(Path(), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  void SetBytes(const std::string& bytes) {
    std::ofstream(Path(), std::ios::binary | std::ios::trunc) << bytes;
  }
  // The contents of all files except the lock.
  std::string OnDisk() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      std::ifstream in(entry.path(), std::ios::binary);
      all.append((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    return all;
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(dir_.path() + "/" + name);
  }

  muster::testing::TempDir dir_;
  RealClock clock_;
  absl::Status failpoint_;
};

TEST_F(JournalTest, RemembersEverythingAcrossARestart) {
  uint64_t first_report = 0;
  {
    auto journal = Open();
    ASSERT_OK(journal->AcceptPlan(MakePlan(7)));
    v1::StepIntent intent;
    intent.set_plan_id("r-7/0");
    intent.set_step_id("a");
    intent.add_dirty_handlers("munge/handler/restart");
    ASSERT_OK(journal->RecordIntent(intent));
    ASSERT_OK(journal->RecordOutcome("r-7/0", Result("a", v1::STEP_STATUS_CHANGED), "",
                                     Journal::Durability::kDurable));
    intent.set_step_id("b");
    ASSERT_OK(journal->RecordIntent(intent));
    ASSERT_OK(journal->RequestCancel("r-7/0"));
    first_report = journal->ReportsAfter(0, 10).at(0).report_sequence();
  }
  auto journal = Open();
  EXPECT_EQ(journal->opening_note(), "");
  EXPECT_EQ(journal->highest_plan_sequence(), 7u);
  EXPECT_TRUE(journal->IsDirty("munge/handler/restart"));
  EXPECT_TRUE(journal->IsCancelRequested("r-7/0"));
  const auto plan = journal->NextPlan();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->outcomes.at("a"), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(plan->cut_off.count("b"), 1u);
  ASSERT_OK(journal->FinishPlan("r-7/0", v1::PlanOutcome()));
  const auto reports = journal->ReportsAfter(0, 10);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].report_sequence(), first_report);
  EXPECT_GT(reports[1].report_sequence(), first_report);
}

TEST_F(JournalTest, RunsPlansInTheOrderOfTheirSequences) {
  auto journal = Open();
  ASSERT_OK(journal->AcceptPlan(MakePlan(3)));
  ASSERT_OK(journal->AcceptPlan(MakePlan(9)));
  EXPECT_EQ(journal->NextPlan()->plan->plan_id(), "r-3/0");
  ASSERT_OK(journal->FinishPlan("r-3/0", v1::PlanOutcome()));
  EXPECT_EQ(journal->NextPlan()->plan->plan_id(), "r-9/0");
}

TEST_F(JournalTest, DropsAFinishedPlanFromTheDiskOnceItsReportsAreStored) {
  auto journal = Open();
  ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
  v1::StepIntent intent;
  intent.set_plan_id("r-1/0");
  intent.set_step_id("a");
  intent.add_dirty_handlers("h");
  ASSERT_OK(journal->RecordIntent(intent));
  ASSERT_OK(journal->RecordOutcome("r-1/0", Result("a", v1::STEP_STATUS_CHANGED), "",
                                   Journal::Durability::kDurable));
  ASSERT_OK(journal->FinishPlan("r-1/0", v1::PlanOutcome()));
  EXPECT_THAT(Bytes(), HasSubstr("hush-hush"));
  const uint64_t last = journal->ReportsAfter(0, 10).back().report_sequence();
  ASSERT_OK(journal->ReportsStored(last - 1));
  EXPECT_THAT(Bytes(), HasSubstr("hush-hush"));
  ASSERT_OK(journal->ReportsStored(last));
  EXPECT_THAT(Bytes(), Not(HasSubstr("hush-hush")));

  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(journal->FindFinished("r-1/0").has_value());
    EXPECT_EQ(journal->highest_plan_sequence(), 1u);
    EXPECT_TRUE(journal->IsDirty("h"));
    EXPECT_TRUE(journal->ReportsAfter(0, 10).empty());
    journal.reset();
    journal = Open();
  }
  ASSERT_OK(journal->AcceptPlan(MakePlan(2)));
  ASSERT_OK(journal->FinishPlan("r-2/0", v1::PlanOutcome()));
  EXPECT_GT(journal->ReportsAfter(0, 10).at(0).report_sequence(), last);
}

TEST_F(JournalTest, CompactionKeepsPlansThatWait) {
  auto journal = Open();
  ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
  ASSERT_OK(journal->AcceptPlan(MakePlan(2)));
  ASSERT_OK(journal->FinishPlan("r-1/0", v1::PlanOutcome()));
  ASSERT_OK(journal->RecordOutcome("r-2/0", Result("x", v1::STEP_STATUS_FAILED), "",
                                   Journal::Durability::kDurable));
  ASSERT_OK(journal->RequestCancel("r-2/0"));
  ASSERT_OK(journal->ReportsStored(journal->ReportsAfter(0, 10).back().report_sequence()));
  journal.reset();
  journal = Open();
  const auto plan = journal->NextPlan();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->plan->plan_id(), "r-2/0");
  EXPECT_EQ(plan->outcomes.at("x"), v1::STEP_STATUS_FAILED);
  EXPECT_TRUE(plan->cancel_requested);
  EXPECT_TRUE(journal->ReportsAfter(0, 10).empty());
}

TEST_F(JournalTest, HandsOutALazyReportOnlyOnceItIsDurable) {
  auto journal = Open();
  ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
  ASSERT_OK(journal->RecordOutcome("r-1/0", Result("a", v1::STEP_STATUS_OK), "",
                                   Journal::Durability::kLazy));
  EXPECT_TRUE(journal->ReportsAfter(0, 10).empty());
  ASSERT_OK(journal->Sync());
  EXPECT_EQ(journal->ReportsAfter(0, 10).size(), 1u);
}

TEST_F(JournalTest, CutAtAnyByteOpensAndGoesOn) {
  {
    auto journal = Open();
    for (uint64_t i = 1; i <= 3; ++i) {
      ASSERT_OK(journal->AcceptPlan(MakePlan(i)));
      ASSERT_OK(journal->FinishPlan(absl::StrCat("r-", i, "/0"), v1::PlanOutcome()));
    }
  }
  const std::string whole = Bytes();
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    SCOPED_TRACE(cut);
    SetBytes(whole.substr(0, cut));
    auto journal = Open();
    const uint64_t before = journal->highest_plan_sequence();
    EXPECT_LE(before, 3u);
    ASSERT_OK(journal->AcceptPlan(MakePlan(before + 1)));
    journal.reset();
    journal = Open();
    EXPECT_EQ(journal->opening_note(), "");
    EXPECT_EQ(journal->highest_plan_sequence(), before + 1);
  }
  EXPECT_FALSE(Exists("damage.txt"));
}

TEST_F(JournalTest, KeepsWhatPrecedesTheDamageAndSaysWhereItIs) {
  {
    auto journal = Open();
    ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
    ASSERT_OK(journal->AcceptPlan(MakePlan(2)));
    ASSERT_OK(journal->AcceptPlan(MakePlan(3)));
  }
  std::string bytes = Bytes();
  const size_t second = bytes.find("r-2/0");
  ASSERT_NE(second, std::string::npos);
  bytes[second] ^= 0x10;
  SetBytes(bytes);
  auto journal = Open();
  EXPECT_THAT(journal->opening_note(), AllOf(HasSubstr("checksum"), HasSubstr("/damage.txt")));
  EXPECT_EQ(journal->highest_plan_sequence(), 1u);
  EXPECT_THAT(OnDisk(), AllOf(HasSubstr(absl::StrCat("journal of ", bytes.size(), " bytes")),
                              HasSubstr("snapshot, "), HasSubstr("plan_accepted, "),
                              HasSubstr("does not match its checksum")));
}

TEST_F(JournalTest, ADamagedJournalLeavesNoSecretBehind) {
  {
    auto journal = Open();
    ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
    ASSERT_OK(journal->AcceptPlan(MakePlan(2)));
  }
  std::string bytes = Bytes();
  ASSERT_THAT(bytes, HasSubstr("hush-hush"));
  bytes[kFrameHeaderBytes + 1] ^= 0x10;  // all plans come after the damage
  SetBytes(bytes);
  // Like a file of an earlier agent.
  std::ofstream(dir_.path() + "/journal.damaged-1700000000000", std::ios::binary) << bytes;
  auto journal = Open();
  EXPECT_THAT(journal->opening_note(), HasSubstr("journal.damaged-1700000000000"));
  EXPECT_TRUE(Exists("damage.txt"));
  EXPECT_THAT(OnDisk(), Not(HasSubstr("hush-hush")));
}

TEST_F(JournalTest, AnyFlippedByteIsSurvived) {
  {
    auto journal = Open();
    ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
    ASSERT_OK(journal->FinishPlan("r-1/0", v1::PlanOutcome()));
  }
  const std::string whole = Bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    SCOPED_TRACE(at);
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    SetBytes(bytes);
    auto journal = Open();
    EXPECT_NE(journal->opening_note(), "");
    EXPECT_OK(journal->AcceptPlan(MakePlan(5)));
  }
}

TEST_F(JournalTest, NeverRepeatsAReportSequenceAfterItWasLost) {
  uint64_t last = 0;
  {
    auto journal = Open();
    ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
    ASSERT_OK(journal->FinishPlan("r-1/0", v1::PlanOutcome()));
    last = journal->ReportsAfter(0, 1).at(0).report_sequence();
  }
  std::filesystem::remove(Path());
  clock_.Sleep(absl::Milliseconds(5));
  auto journal = Open();
  ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
  ASSERT_OK(journal->FinishPlan("r-1/0", v1::PlanOutcome()));
  EXPECT_GT(journal->ReportsAfter(0, 1).at(0).report_sequence(), last);
}

TEST_F(JournalTest, NeverRepeatsAReportSequenceWhenTheDiskGoesBackInTime) {
  Open();
  const std::string snapshot = Bytes();
  uint64_t last = 0;
  {
    auto journal = Open();
    ASSERT_OK(journal->AcceptPlan(MakePlan(1)));
    ASSERT_OK(journal->FinishPlan("r-1/0", v1::PlanOutcome()));
    last = journal->ReportsAfter(0, 10).back().report_sequence();
  }
  absl::SleepFor(absl::Milliseconds(5));  // sequences follow the clock
  std::ofstream(Path(), std::ios::binary | std::ios::trunc) << snapshot;
  auto journal = Open();
  ASSERT_OK(journal->AcceptPlan(MakePlan(2)));
  ASSERT_OK(journal->FinishPlan("r-2/0", v1::PlanOutcome()));
  EXPECT_GT(journal->ReportsAfter(0, 10).at(0).report_sequence(), last);
}

TEST_F(JournalTest, ANewIdentityStartsANewCountAndKeepsDirtyHandlers) {
  {
    auto journal = Open();
    ASSERT_OK(journal->AcceptPlan(MakePlan(41)));
    v1::StepIntent intent;
    intent.set_plan_id("r-41/0");
    intent.add_dirty_handlers("h");
    ASSERT_OK(journal->RecordIntent(intent));
  }
  auto journal = Open("6a1f0d0e-0000-4000-8000-000000000002");
  EXPECT_EQ(journal->highest_plan_sequence(), 0u);
  EXPECT_FALSE(journal->NextPlan().has_value());
  EXPECT_TRUE(journal->IsDirty("h"));
}

TEST_F(JournalTest, AFailedWriteRecordsNothing) {
  auto journal = Open();
  failpoint_ = absl::ResourceExhaustedError("No space left on device");
  EXPECT_THAT(journal->AcceptPlan(MakePlan(1)),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_EQ(journal->highest_plan_sequence(), 0u);
  failpoint_ = absl::OkStatus();
  EXPECT_OK(journal->AcceptPlan(MakePlan(1)));
}

TEST_F(JournalTest, IsClosedToOthersAndToASecondAgent) {
  auto journal = Open();
  struct stat st {};
  ASSERT_EQ(::stat(Path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::agent
