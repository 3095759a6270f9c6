#include "agent/health/condition_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::agent::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Time kStart = absl::FromUnixSeconds(1'900'000'000);
constexpr absl::Duration kStep = absl::Minutes(1);

std::vector<std::string> Names(const ConditionBoard& board) {
  std::vector<std::string> names;
  for (const ConditionRow& row : board.Rows())
    names.push_back(absl::StrCat(row.status == Status::kBad ? "" : "unknown ", row.condition, " ",
                                 row.object, ": ", row.evidence));
  return names;
}

class ConditionBoardTest : public ::testing::Test {
 protected:
  void Merge(std::vector<Finding> troubles) {
    board_.Merge(watched_, {.troubles = std::move(troubles)}, kStep, now_ += absl::Seconds(30));
  }

  std::vector<WatchedCondition> watched_ = {{"disk_full", {}}, {"nic_down", {}}};
  absl::Time now_ = kStart;
  ConditionBoard board_;
};

TEST_F(ConditionBoardTest, WhatIsNoLongerFoundIsWell) {
  Merge({{"disk_full", "/a", Status::kBad, "97 %"}, {"nic_down", "eth1", Status::kBad, "no link"}});
  EXPECT_THAT(Names(board_), ElementsAre("disk_full /a: 97 %", "nic_down eth1: no link"));
  Merge({{"nic_down", "eth1", Status::kBad, "still"}});
  EXPECT_THAT(Names(board_), ElementsAre("nic_down eth1: still")) << "by the newest look";
  EXPECT_EQ(board_.Rows()[0].since, kStart + absl::Seconds(30));
}

TEST_F(ConditionBoardTest, ALookLeavesTheConditionsOfOtherProbesAlone) {
  Merge({{"disk_full", "/a", Status::kBad, "x"}});
  board_.Merge(std::vector<WatchedCondition>{{"ib_port", {}}}, {}, kStep, now_);
  EXPECT_EQ(board_.Rows().size(), 1u);
}

TEST_F(ConditionBoardTest, AProbeThatFailsLeavesBadWhatIsBad) {
  Merge({{"disk_full", "/a", Status::kBad, "x"}});
  for (int i = 0; i < 100; ++i) Merge({{"disk_full", "", Status::kUnknown, "hangs"}});
  EXPECT_THAT(Names(board_), ElementsAre("unknown disk_full : hangs", "disk_full /a: x"));
  Merge({});
  EXPECT_THAT(Names(board_), IsEmpty());
}

TEST_F(ConditionBoardTest, AFailingDiskThatDiesIsNotWellAgain) {
  watched_ = {{.name = "disk_health", .patience = {}, .must_be_seen_well = true}};
  Merge({{"disk_health", "sdb", Status::kBad, "failing"}});
  for (int i = 0; i < 100; ++i) Merge({});
  EXPECT_THAT(Names(board_), ElementsAre("disk_health sdb: failing"));
  // Nor is it for the agent that comes after this one.
  ConditionBoard next;
  for (const ConditionRow& row : board_.BadFindings()) next.Restore(row);
  Findings findings = {.well = {{"disk_health", "sda"}}};
  next.Merge(watched_, findings, kStep, now_);
  EXPECT_THAT(Names(next), ElementsAre("disk_health sdb: failing"));
  findings.well.emplace_back("disk_health", "sdb");  // another disk has its name
  next.Merge(watched_, findings, kStep, now_);
  EXPECT_THAT(Names(next), IsEmpty());
  // It was taken out.
  board_.Clear("disk_health", "sdb");
  Merge({});
  EXPECT_THAT(Names(board_), IsEmpty());
}

TEST_F(ConditionBoardTest, EventsLastUntilTheirTime) {
  EXPECT_TRUE(board_.AddEvent({"oom_kill", "", "a", kStart, kStart + absl::Hours(1)}, kStart));
  EXPECT_FALSE(board_.AddEvent({"oom_kill", "", "b", kStart, kStart + absl::Hours(2)}, kStart));
  EXPECT_TRUE(board_.AddEvent({"gpu_xid", "GPU-1", "c", kStart}, kStart));
  // Long over.
  EXPECT_FALSE(board_.AddEvent({"hung_task", "", "d", kStart, kStart - absl::Hours(1)}, kStart));
  EXPECT_THAT(Names(board_), ElementsAre("gpu_xid GPU-1: c", "oom_kill : b"));
  board_.Expire(kStart + absl::Minutes(90));
  EXPECT_EQ(board_.Rows().size(), 2u);
  board_.Expire(kStart + absl::Hours(1000));
  EXPECT_THAT(Names(board_), ElementsAre("gpu_xid GPU-1: c"));
  board_.ForgetEvents("gpu_xid");
  EXPECT_THAT(Names(board_), IsEmpty());
}

TEST_F(ConditionBoardTest, DisabledConditionsAreNotReported) {
  Merge({{"disk_full", "/a", Status::kBad, "x"}});
  board_.AddEvent({"oom_kill", "", "a", kStart}, kStart);
  board_.SetDisabled({"disk_full", "oom_kill"});
  EXPECT_THAT(Names(board_), IsEmpty());
  board_.SetDisabled({});
  EXPECT_EQ(board_.Rows().size(), 2u);
}

TEST_F(ConditionBoardTest, RestoredConditionsAreBadUntilALookFindsThemWell) {
  board_.Restore({"disk_full", "/a", Status::kBad, kStart - absl::Hours(3), "97 %"});
  ASSERT_EQ(board_.Rows().size(), 1u);
  Merge({{"disk_full", "/a", Status::kBad, "98 %"}});
  ASSERT_EQ(board_.Rows().size(), 1u);
  EXPECT_EQ(board_.Rows()[0].since, kStart - absl::Hours(3));
  Merge({});
  EXPECT_THAT(Names(board_), IsEmpty());
}

TEST_F(ConditionBoardTest, FloodsAreBoundedAndCounted) {
  std::vector<Finding> troubles;
  for (int i = 0; i < 1000; ++i)
    troubles.push_back({"disk_full", absl::StrCat("/", i), Status::kBad, "x"});
  Merge(troubles);
  for (int i = 0; i < 1000; ++i)
    board_.AddEvent({"disk_errors", absl::StrCat("sd", i), "y", kStart}, kStart);
  const size_t mild = ConditionBoard::kMaxRows - ConditionBoard::kDrainRows;
  EXPECT_EQ(board_.Rows().size(), mild);
  EXPECT_EQ(board_.dropped(), 2000 - mild);
  // What drains a node finds room all the same, and is bounded, too.
  EXPECT_TRUE(board_.AddEvent({"gpu_xid", "GPU-1", "c", kStart}, kStart));
  EXPECT_TRUE(board_.AddEvent({"of_the_site", "", "d", kStart}, kStart));
  for (int i = 0; i < 1000; ++i)
    board_.AddEvent({"gpu_xid", absl::StrCat("GPU-x", i), "c", kStart}, kStart);
  EXPECT_EQ(board_.Rows().size(), ConditionBoard::kMaxRows);
}

TEST_F(ConditionBoardTest, TheGravestEventIsTold) {
  const auto add = [&](const std::string& evidence, int gravity, absl::Time since) {
    return board_.AddEvent({"gpu_xid", "GPU-1", evidence, since, absl::InfiniteFuture(), gravity},
                           now_);
  };
  now_ += absl::Hours(1);
  EXPECT_TRUE(add("reset", 3, kStart));
  EXPECT_TRUE(add("reboot", 4, kStart + absl::Minutes(1))) << "news";
  EXPECT_FALSE(add("reset again", 3, kStart + absl::Minutes(2)));
  EXPECT_THAT(Names(board_), ElementsAre("gpu_xid GPU-1: reboot"));
  EXPECT_FALSE(add("reboot again", 4, kStart + absl::Minutes(3)));
  EXPECT_THAT(Names(board_), ElementsAre("gpu_xid GPU-1: reboot again"));
  EXPECT_EQ(board_.Rows()[0].since, kStart);
}

TEST_F(ConditionBoardTest, AnUnknownConditionKeepsTheEvidenceOfWhatIsBad) {
  Merge({{"disk_full", "/a", Status::kBad, "97 %"}});
  Merge({{"disk_full", "/a", Status::kUnknown, "hangs"}});
  EXPECT_THAT(Names(board_), ElementsAre("disk_full /a: 97 %"));
}

TEST_F(ConditionBoardTest, TextsAreCutAndPlain) {
  Merge({{"disk_full", std::string(1000, 'o'), Status::kBad,
          absl::StrCat("\x1b[31mred\n", std::string(1000, 'e'), "\xff")}});
  ASSERT_EQ(board_.Rows().size(), 1u);
  const ConditionRow row = board_.Rows()[0];
  EXPECT_LE(row.object.size(), ConditionBoard::kMaxObjectBytes);
  EXPECT_LE(row.evidence.size(), ConditionBoard::kMaxEvidenceBytes);
  EXPECT_EQ(row.evidence.find('\x1b'), std::string::npos);
  EXPECT_EQ(row.evidence.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace muster::agent::health
