// The journal with a fault at every call to the disk in turn: a record counts whole or not at all,
// and work continues when the fault is gone.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/state/journal.h"
#include "agent/state/journal_codec.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"
#include "tests/unit/agent/state/failing_disk.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr char kNode[] = "6a1f0d0e-0000-4000-8000-000000000001";

v1::Plan MakePlan(uint64_t sequence) {
  v1::Plan plan;
  plan.set_plan_id(absl::StrCat("r-", sequence, "/0"));
  plan.set_sequence(sequence);
  return plan;
}
absl::Status Intend(Journal& journal, const std::string& plan, const std::string& step) {
  v1::StepIntent intent;
  intent.set_plan_id(plan);
  intent.set_step_id(step);
  intent.add_dirty_handlers("handler");
  return journal.RecordIntent(intent);
}
absl::Status Settle(Journal& journal, const std::string& plan, const std::string& step,
                    Journal::Durability durability) {
  v1::StepResult result;
  result.set_step_id(step);
  result.set_status(v1::STEP_STATUS_CHANGED);
  return journal.RecordOutcome(plan, result, "", durability);
}
absl::Status AcknowledgeAll(Journal& journal) {
  const auto reports = journal.ReportsAfter(0, 100);
  return reports.empty() ? absl::OkStatus()
                         : journal.ReportsStored(reports.back().report_sequence());
}

// The life of two plans. The records of a row are certainly on the disk once a durable row has
// completed.
struct Row {
  std::function<absl::Status(Journal&)> act;
  bool durable;
};
const Row kLife[] = {
    {[](Journal& j) { return j.AcceptPlan(MakePlan(1)); }, true},
    {[](Journal& j) { return Intend(j, "r-1/0", "a"); }, true},
    {[](Journal& j) { return Settle(j, "r-1/0", "a", Journal::Durability::kDurable); }, true},
    {[](Journal& j) { return Settle(j, "r-1/0", "b", Journal::Durability::kLazy); }, false},
    {[](Journal& j) { return Settle(j, "r-1/0", "c", Journal::Durability::kLazy); }, false},
    {[](Journal& j) { return j.Sync(); }, true},
    {[](Journal& j) { return j.AcceptPlan(MakePlan(2)); }, true},
    {[](Journal& j) { return j.FinishPlan("r-1/0", v1::PlanOutcome()); }, true},
    {AcknowledgeAll, false},  // compacts
    {[](Journal& j) { return Intend(j, "r-2/0", "a"); }, true},
    {[](Journal& j) { return j.RequestCancel("r-2/0"); }, true},
    {[](Journal& j) { return j.FinishPlan("r-2/0", v1::PlanOutcome()); }, true},
};
constexpr size_t kRows = std::size(kLife);

std::string Describe(const Journal& journal) {
  std::vector<std::string> words = {absl::StrCat("highest ", journal.highest_plan_sequence())};
  for (const auto& plan : journal.UnfinishedPlans()) words.push_back("has " + plan->plan_id());
  if (const auto next = journal.NextPlan(); next.has_value()) {
    for (const auto& [step, status] : next->outcomes)
      words.push_back(absl::StrCat(step, "=", status));
    for (const auto& [step, intent] : next->cut_off) words.push_back("cut off " + step);
    if (next->cancel_requested) words.push_back("cancelled");
  }
  for (const char* plan : {"r-1/0", "r-2/0"})
    if (journal.FindFinished(plan).has_value()) words.push_back(absl::StrCat("ended ", plan));
  if (journal.IsDirty("handler")) words.push_back("dirty");
  for (const v1::Report& report : journal.ReportsAfter(0, 100))
    words.push_back(absl::StrCat("reports ", report.plan_id(), " ", report.step().step_id()));
  return absl::StrJoin(words, ", ");
}

class JournalFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The content of the journal, reopened, after so many rows.
    for (size_t rows = 0; rows <= kRows; ++rows) {
      Anew();
      {
        auto journal = Open();
        for (size_t row = 0; row < rows; ++row) ASSERT_OK(kLife[row].act(*journal));
      }
      reads_.push_back(Describe(*Open()));
    }
    ASSERT_NE(reads_[3], reads_[2]);
    Anew();
    auto journal = Open();
    disk_->Mend();
    for (const Row& row : kLife) ASSERT_OK(row.act(*journal));
    operations_ = static_cast<int>(disk_->log().size());
    ASSERT_GT(operations_, 20);
  }

  void Anew() {
    disk_.reset();
    dir_ = std::make_unique<muster::testing::TempDir>();
    disk_ = std::make_unique<muster::testing::FailingDisk>(dir_->path());
  }
  absl::StatusOr<std::unique_ptr<Journal>> TryOpen() {
    return Journal::Open({.directory = dir_->path(), .node_uuid = kNode}, clock_);
  }
  std::unique_ptr<Journal> Open() {
    auto journal = TryOpen();
    EXPECT_OK(journal);
    return *std::move(journal);
  }
  // The number of rows of a journal with this content.
  size_t RowsOf(const Journal& journal, size_t at_least, size_t at_most) {
    const std::string read = Describe(journal);
    for (size_t rows = at_most + 1; rows-- > at_least;)
      if (reads_[rows] == read) return rows;
    ADD_FAILURE() << "half recorded: " << read << "\n  before: " << reads_[at_least]
                  << "\n  after: " << reads_[at_most];
    return at_most;
  }
  void GoOn(Journal& journal, size_t from) {
    for (size_t row = from; row < kRows; ++row) EXPECT_OK(kLife[row].act(journal)) << row;
  }
  // Also after the next power cut.
  void ExpectWholeLife() {
    EXPECT_EQ(Describe(*Open()), reads_[kRows]);
    disk_->CutPower();
    EXPECT_EQ(Describe(*Open()), reads_[kRows]);
  }

  // The row that fails, or kRows.
  size_t LiveUntilFailure(Journal& journal, absl::Status& status) {
    for (size_t row = 0; row < kRows; ++row) {
      status = kLife[row].act(journal);
      if (!status.ok() || disk_->stopped()) return row;
    }
    return kRows;
  }

  muster::testing::FakeClock clock_;
  std::unique_ptr<muster::testing::TempDir> dir_;
  std::unique_ptr<muster::testing::FailingDisk> disk_;
  std::vector<std::string> reads_;
  int operations_ = 0;
};

TEST_F(JournalFaultTest, MachineThatStopsLeavesEachRecordWholeOrAbsent) {
  for (const bool power_cut : {false, true}) {
    for (int number = 1; number <= operations_; ++number) {
      Anew();
      auto journal = Open();
      disk_->StopAt(number);
      absl::Status status;
      const size_t row = LiveUntilFailure(*journal, status);
      SCOPED_TRACE(absl::StrCat(power_cut ? "power cut" : "kill", " at ", number, ": ",
                                disk_->log().at(number - 1), ", row ", row));
      ASSERT_TRUE(disk_->stopped());
      journal.reset();
      disk_->Mend();
      if (power_cut) disk_->CutPower();
      // A power cut may lose lazily recorded data.
      size_t safe = row;
      while (power_cut && safe > 0 && !kLife[safe - 1].durable) --safe;
      journal = Open();
      GoOn(*journal, RowsOf(*journal, safe, row + 1));
      journal.reset();
      ExpectWholeLife();
    }
  }
}

TEST_F(JournalFaultTest, MachineThatStopsWhileItOpensLosesNothing) {
  for (const bool power_cut : {false, true}) {
    for (int number = 1;; ++number) {
      SCOPED_TRACE(number);
      Anew();
      {
        auto journal = Open();
        for (size_t row = 0; row < 8; ++row) ASSERT_OK(kLife[row].act(*journal));
      }
      disk_->StopAt(number);
      TryOpen().status().IgnoreError();
      const bool was_stopped = disk_->stopped();
      disk_->Mend();
      if (power_cut) disk_->CutPower();
      auto journal = Open();
      EXPECT_EQ(Describe(*journal), reads_[8]);
      GoOn(*journal, 8);
      journal.reset();
      ExpectWholeLife();
      if (!was_stopped) break;
    }
  }
}

struct Fault {
  int error;
  const char* words;
};
constexpr Fault kFaults[] = {{ENOSPC, "No space left on device"},
                             {EROFS, "Read-only file system"},
                             {EIO, "Input/output error"}};

TEST_F(JournalFaultTest, FaultIsNamedRecordsNothingAndPasses) {
  int broken = 0;
  for (const Fault& fault : kFaults) {
    for (const int count : {1, 3}) {
      for (int number = 1; number <= operations_; ++number) {
        Anew();
        auto journal = Open();
        disk_->FailAt(number, count, fault.error);
        absl::Status status;
        const size_t row = LiveUntilFailure(*journal, status);
        SCOPED_TRACE(absl::StrCat(fault.words, " ", count, " times at ", number, ": ",
                                  disk_->log().at(number - 1), ", row ", row));
        if (row < kRows) {
          EXPECT_THAT(status.message(),
                      AllOf(Said(), HasSubstr(dir_->path()), HasSubstr(fault.words)));
        }
        disk_->Mend();
        size_t from = row;
        if (journal->broken()) {
          ++broken;
          journal.reset();
          journal = Open();
          from = RowsOf(*journal, row, std::min(row + 1, kRows));
        }
        GoOn(*journal, from);
        journal.reset();
        ExpectWholeLife();
      }
    }
  }
  EXPECT_GT(broken, 10);
}

TEST_F(JournalFaultTest, OpeningOnABadDiskSaysSoAndWorksAfterwards) {
  for (const Fault& fault : kFaults) {
    for (int number = 1;; ++number) {
      Anew();
      {
        auto journal = Open();
        for (size_t row = 0; row < 8; ++row) ASSERT_OK(kLife[row].act(*journal));
      }
      disk_->FailAt(number, 2, fault.error);
      const absl::Status status = TryOpen().status();
      if (static_cast<int>(disk_->log().size()) < number) break;
      SCOPED_TRACE(absl::StrCat(fault.words, " at ", number, ": ", disk_->log().at(number - 1)));
      if (!status.ok()) {
        EXPECT_THAT(status.message(), AllOf(Said(), HasSubstr(fault.words)));
      }
      disk_->Mend();
      auto journal = Open();
      EXPECT_EQ(Describe(*journal), reads_[8]);
      GoOn(*journal, 8);
      journal.reset();
      ExpectWholeLife();
    }
  }
}

// An agent on a full disk still connects and reports it.
TEST_F(JournalFaultTest, WholeJournalOpensOnAFullDisk) {
  Anew();
  {
    auto journal = Open();
    for (size_t row = 0; row < 8; ++row) ASSERT_OK(kLife[row].act(*journal));
  }
  disk_->FailAt(2, 1, ENOSPC);  // the new journal; the lock exists
  auto journal = Open();
  EXPECT_THAT(journal->opening_note(), HasSubstr("No space left"));
  EXPECT_EQ(Describe(*journal), reads_[8]);
}

TEST_F(JournalFaultTest, TornOrDamagedJournalOpensOnAFullDisk) {
  v1::JournalRecord record;
  *record.mutable_plan_accepted()->mutable_plan() = MakePlan(3);
  const std::string frame = FrameRecord(record);
  for (const bool is_torn : {true, false}) {
    SCOPED_TRACE(is_torn);
    Anew();
    {
      auto journal = Open();
      for (size_t row = 0; row < 8; ++row) ASSERT_OK(kLife[row].act(*journal));
    }
    std::string rest = is_torn ? frame.substr(0, frame.size() / 2) : frame;
    rest.back() = static_cast<char>(~rest.back());
    std::ofstream(dir_->path() + "/journal", std::ios::binary | std::ios::app) << rest;
    // The description of the damage and the new journal; the lock exists.
    disk_->FailAt(2, is_torn ? 1 : 2, ENOSPC);
    auto journal = Open();
    EXPECT_THAT(journal->opening_note(), HasSubstr("No space left"));
    EXPECT_EQ(Describe(*journal), reads_[8]);
    ASSERT_OK(Intend(*journal, "r-2/0", "a"));
    const std::string read = Describe(*journal);
    journal.reset();
    disk_->Mend();
    disk_->CutPower();
    journal = Open();
    EXPECT_EQ(journal->opening_note(), "");
    EXPECT_EQ(Describe(*journal), read);
  }
}

}  // namespace
}  // namespace muster::agent
