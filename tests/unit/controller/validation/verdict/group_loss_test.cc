#include "controller/validation/verdict/group_loss.h"
#include "tests/fixtures/golden_texts.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;

// The nodes a, b, c … by rank.
class GroupLossTest : public ::testing::Test {
 protected:
  void Add(v1::Outcome outcome, std::optional<int> lost_rank = std::nullopt, bool stopped = false) {
    v1::CheckResult& result = results_.emplace_back();
    if (lost_rank.has_value()) result.set_lost_rank(*lost_rank);
    result.set_stopped(stopped);
    v1::CheckVerdict& verdict = verdicts_.emplace_back();
    verdict.set_outcome(outcome);
    const auto rank = static_cast<uint32_t>(members_.size());
    members_.push_back({std::string(1, static_cast<char>('a' + rank)), rank, &result, &verdict});
  }
  void AddLost(int lost_rank) { Add(v1::OUTCOME_UNKNOWN, lost_rank); }
  void AddStopped() { Add(v1::OUTCOME_UNKNOWN, std::nullopt, true); }
  void AddCrashed() { Add(v1::OUTCOME_UNKNOWN); }
  void AddWithoutResult() {
    AddCrashed();
    members_.back().result = nullptr;
  }

  std::string Excused() {
    ExcuseSurvivors(members_);
    std::string excused;
    for (const GroupMember& member : members_) {
      if (member.verdict->excused()) excused += member.node;
    }
    return excused;
  }

  std::deque<v1::CheckResult> results_;
  std::deque<v1::CheckVerdict> verdicts_;
  std::vector<GroupMember> members_;
};

TEST_F(GroupLossTest, WhoLostAnotherIsExcused) {
  AddLost(2);
  AddLost(2);
  AddCrashed();
  AddStopped();
  EXPECT_EQ(Excused(), "abd");
  EXPECT_THAT(verdicts_[3].reason(), Said());
  EXPECT_EQ(verdicts_[2].outcome(), v1::OUTCOME_UNKNOWN);
}

TEST_F(GroupLossTest, ANodeThatNeverAnsweredIsLost) {
  AddLost(1);
  AddWithoutResult();
  EXPECT_EQ(Excused(), "a");
}

TEST_F(GroupLossTest, WhomTheOthersNameIsLostWhateverItSays) {
  AddLost(1);
  AddLost(0);  // it sees nobody
  AddLost(1);
  AddLost(1);
  EXPECT_EQ(Excused(), "acd");
}

TEST_F(GroupLossTest, TheOneWhoWasStoppedLateIsStillTheOneWhomAllName) {
  AddLost(1);
  AddStopped();
  AddLost(1);
  EXPECT_EQ(Excused(), "ac");
}

TEST_F(GroupLossTest, WordAgainstWordExcusesNobody) {
  AddLost(1);
  AddLost(0);
  EXPECT_EQ(Excused(), "");
}

TEST_F(GroupLossTest, AsManyVotesForTwoExcuseNobody) {
  AddLost(1);
  AddLost(0);
  AddLost(0);
  AddLost(1);
  EXPECT_EQ(Excused(), "");
}

TEST_F(GroupLossTest, WhoCannotTellWhomItLostNeitherIsExcusedNorAccused) {
  AddLost(-1);
  AddLost(0);
  AddStopped();
  EXPECT_EQ(Excused(), "");
  AddLost(9);  // there is no such rank
  AddLost(9);
  EXPECT_EQ(Excused(), "");
}

TEST_F(GroupLossTest, ThatAllWereStoppedExcusesNobody) {
  AddStopped();
  AddStopped();
  EXPECT_EQ(Excused(), "");
}

TEST_F(GroupLossTest, FailsAndPassesStay) {
  Add(v1::OUTCOME_FAIL);  // its own link was down
  Add(v1::OUTCOME_FAIL, 0);
  Add(v1::OUTCOME_PASS);
  AddLost(0);
  EXPECT_EQ(Excused(), "d");
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(verdicts_[2].outcome(), v1::OUTCOME_PASS);
}

// All members see one that changes the data passing through it, or that is slow.
TEST_F(GroupLossTest, WhatOneMemberCanDoToTheRingPutsNoOtherOutOfService) {
  for (const char* metric : {"wrong_sum", "busbw", "all_reduce_ms", "scaling_worst"}) {
    verdicts_.clear();
    results_.clear();
    members_.clear();
    for (int i = 0; i < 3; ++i) {
      Add(v1::OUTCOME_FAIL);
      verdicts_.back().set_reason("the reason");
      v1::Finding& finding = *verdicts_.back().add_findings();
      finding.set_outcome(v1::OUTCOME_FAIL);
      finding.set_metric(metric);
      if (finding.metric() == "busbw") finding.set_unit("GB/s");
      if (finding.metric() == "all_reduce_ms") finding.set_unit("ms");
      if (finding.metric() != "wrong_sum") finding.set_value(1);
    }
    v1::Finding& own = *verdicts_[2].add_findings();
    own.set_outcome(v1::OUTCOME_FAIL);
    own.set_metric("crc_errors");
    SuspectRing(members_);
    EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_UNKNOWN) << metric;
    EXPECT_THAT(verdicts_[1].reason(), Said());
    EXPECT_EQ(verdicts_[2].outcome(), v1::OUTCOME_FAIL) << metric;
  }
}

}  // namespace
}  // namespace muster::controller::validation
