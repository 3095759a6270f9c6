#include "controller/notify/ledger.h"

#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using LedgerTest = NotifyTest;

TEST_F(LedgerTest, EachChannelGetsWhatItTakes) {
  channels_ = {MakeConfig("all"), MakeConfig("rollouts", {"rollout"}),
               MakeConfig("grave", {}, Severity::kCritical)};
  EXPECT_THAT(Record(Bad("c001")), ElementsAre("all", "grave"));
  EXPECT_THAT(Record(Bad("c002", Severity::kWarning)), ElementsAre("all"));
  EXPECT_THAT(Pending("all"), SizeIs(2));
  EXPECT_THAT(Pending("grave"), SizeIs(1));
  EXPECT_THAT(Pending("rollouts"), IsEmpty());
}

TEST_F(LedgerTest, TheSameIsFoldedForAnHour) {
  EXPECT_THAT(Record(Bad("c001")), SizeIs(1));
  clock_.Advance(absl::Minutes(59));
  EXPECT_THAT(Record(Bad("c001")), IsEmpty());
  EXPECT_THAT(Record(Bad("c002")), SizeIs(1)) << "of another node";
  ASSERT_THAT(Pending("chat"), SizeIs(2));
  EXPECT_EQ(Pending("chat")[0].notification.count, 2u);
  EXPECT_EQ(Pending("chat")[0].notification.last_at, kNow + absl::Minutes(59));
  clock_.Advance(absl::Minutes(2));
  EXPECT_THAT(Record(Bad("c001")), SizeIs(1));
  EXPECT_EQ(Pending("chat").back().notification.began_at, kNow) << "it has been bad since then";
}

TEST_F(LedgerTest, OtherWordsAreNews) {
  EXPECT_THAT(Record(Bad("c001")), SizeIs(1));
  Notification drained = Bad("c001");
  drained.text = "GPU 3 does not answer; drained";
  EXPECT_THAT(Record(drained), SizeIs(1));
  ASSERT_THAT(Pending("chat"), SizeIs(2));
  EXPECT_TRUE(Pending("chat")[0].notification.ended_at.has_value()) << "replaced";
  EXPECT_THAT(Record(Good("c001")), SizeIs(1));
}

TEST_F(LedgerTest, WhatGetsWorseIsTold) {
  EXPECT_THAT(Record(Bad("c001", Severity::kWarning)), SizeIs(1));
  EXPECT_THAT(Record(Bad("c001", Severity::kCritical)), SizeIs(1));
  EXPECT_THAT(Record(Bad("c001", Severity::kWarning)), IsEmpty());
}

TEST_F(LedgerTest, AnEndIsToldToThoseWhoWereToldOfTheBeginning) {
  channels_ = {MakeConfig("grave", {}, Severity::kCritical)};
  EXPECT_THAT(Record(Bad("c001")), ElementsAre("grave"));
  clock_.Advance(absl::Minutes(5));
  EXPECT_THAT(Record(Good("c001")), ElementsAre("grave")) << "though it was posted as info";
  ASSERT_THAT(Pending("grave"), SizeIs(2));
  EXPECT_EQ(Pending("grave")[0].notification.ended_at, kNow + absl::Minutes(5));
  EXPECT_EQ(Pending("grave")[1].notification.began_at, kNow);
  EXPECT_THAT(Record(Good("c001")), IsEmpty()) << "it is over already";
  EXPECT_THAT(Record(Good("c007")), IsEmpty()) << "nobody knows of it";
  EXPECT_THAT(Record(Bad("c001")), SizeIs(1)) << "again, within the hour";
}

// Many nodes may fall ill at once, and are well again one after the other.
TEST_F(LedgerTest, WhatLastsEndsForEachNodeByItself) {
  Notification bad = Bad("c001");
  bad.nodes = {"c001", "c002", "c003"};
  Record(bad);
  EXPECT_THAT(Pending("chat"), SizeIs(3));
  EXPECT_THAT(Record(Good("c002")), SizeIs(1));
  EXPECT_THAT(Record(Good("c002")), IsEmpty());
  Notification good = Good("c001");
  good.nodes = {"c001", "c002", "c003"};
  Record(good);
  EXPECT_THAT(Pending("chat"), SizeIs(6));

  Notification failed = bad;
  failed.kind = "run.failed";
  Record(failed);
  ASSERT_THAT(Pending("chat"), SizeIs(7)) << "it does not last";
  EXPECT_EQ(Pending("chat")[6].notification.nodes, "c[001-003]");
}

TEST_F(LedgerTest, AClockThatJumpsBackFoldsNothing) {
  EXPECT_THAT(Record(Bad("c001")), SizeIs(1));
  clock_.Advance(-absl::Hours(3));
  EXPECT_THAT(Record(Bad("c001")), SizeIs(1));
}

TEST(Cleaned, HasNothingThatWouldAddALineOrControlATerminal) {
  Notification hostile = Bad("c001\nc002");
  hostile.text = "x\r\nBcc: all@example.org\x1b[31m" + std::string(5000, 'a');
  hostile.details = "one\r\ntwo\x07\nthree";
  hostile.key = "a\nb";
  const Notification clean = Cleaned(hostile);
  for (const std::string& line : {clean.text, clean.key, clean.nodes[0], clean.kind})
    EXPECT_THAT(line, Not(::testing::ContainsRegex("[\r\n\x1b]")));
  EXPECT_LE(clean.text.size(), 400u);
  EXPECT_THAT(clean.details, HasSubstr("one\ntwo"));
  EXPECT_THAT(clean.details, Not(::testing::ContainsRegex("[\r\x07]")));
}

// Oldest first, and those are counted that a channel had not delivered.
TEST_F(LedgerTest, TheStoreKeepsTheNewest) {
  for (int i = 0; i < 10; ++i) Record(Bad(absl::StrCat("c", i)));
  uint64_t lost = 0;
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.notification_deliveries().SetMessage("chat", 1, "m"));
    RETURN_IF_ERROR(txn.notification_deliveries().EndAttempt(
        "chat", "m", NotificationDelivery::kDelivered, "", kNow));
    ASSIGN_OR_RETURN(lost, txn.notifications().Trim(4, kNow - absl::Hours(1)));
    return absl::OkStatus();
  }));
  EXPECT_EQ(lost, 5u) << "six are gone, one of them delivered";
  ASSERT_THAT(Pending("chat"), SizeIs(4));
  EXPECT_EQ(Pending("chat")[0].notification.nodes, "c6");
}

TEST_F(LedgerTest, WhatWasDeliveredGoesWithTime) {
  Record(Bad("c001"));
  Record(Good("c001"));
  Record(Bad("c002"));
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.notification_deliveries().SetMessage("chat", 2, "m"));
    RETURN_IF_ERROR(txn.notification_deliveries().EndAttempt(
        "chat", "m", NotificationDelivery::kDelivered, "", kNow));
    RETURN_IF_ERROR(txn.notifications().Trim(100, kNow + absl::Hours(1)).status());
    ASSIGN_OR_RETURN(const auto gone,
                     txn.notifications().Newest("health.condition", "gpu.xid", "c001"));
    EXPECT_FALSE(gone.has_value());
    ASSIGN_OR_RETURN(const auto lasting, txn.notifications().ListLasting(0, 10));
    EXPECT_THAT(lasting, SizeIs(1)) << "of c002";
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller::notify
