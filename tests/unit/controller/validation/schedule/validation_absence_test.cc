// ValidationState while nodes, reports or the controller are away.
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/validation/schedule/validation_state.h"
#include "tests/unit/controller/validation/validation_state_fixture.h"

namespace muster::controller::validation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ValidationStateTest, NodeThatIsNotThere) {
  std::vector<ValidationNode> nodes = Nodes(3);
  nodes[2].uuid.clear();
  Make(MakeSuite({Stage("a", {Check(kPlainLook)}), Stage("b", {Check(kPlainTcp)})}), nodes);
  EXPECT_THAT(Words(Note(state_->Begin({"uc1"}, now_))),
              ElementsAre("start v/0.0.0.0/c1", "verdict v/0.0.0.0/c3"));
  Report("v/0.0.0.0/c1", PartOutcome::kPass);
  EXPECT_THAT(Later(kCheckConnectGrace - absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(Words(Later(absl::Seconds(1))).back(), "finish");
  EXPECT_THAT(verdicts_,
              ::testing::IsSupersetOf({"c3 look unknown", "c2 look unknown",
                                       "c1 tcp unknown with c2", "c2 tcp unknown with c1"}));
  EXPECT_THAT(reasons_, ::testing::Contains(HasSubstr("systemctl status muster-agent")));
  EXPECT_THAT(reasons_, ::testing::Contains(HasSubstr("bootstrap --ssh c3")));
  EXPECT_THAT(reasons_, ::testing::Contains(HasSubstr("its partner c2 is not connected")));
}

TEST_F(ValidationStateTest, NodeThatComesInTimeIsTested) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)})}), Nodes(1));
  EXPECT_THAT(Note(state_->Begin({}, now_)), IsEmpty());
  Later(absl::Seconds(5));
  EXPECT_THAT(Words(Note(state_->OnConnected("uc1", {}, now_))), ElementsAre("start v/0.0.0.0/c1"));
  EXPECT_EQ(PassAll(), 1);
  EXPECT_TRUE(state_->finished());
}

TEST_F(ValidationStateTest, LostWhileItRuns) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)}), Stage("b", {Check(kPlainLook)})}), Nodes(1));
  BeginAll();
  state_->OnUpdate("v/0.0.0.0/c1", std::nullopt, now_);
  Note(state_->OnDisconnected("uc1", now_));
  // It reconnects and still has the check.
  EXPECT_THAT(Note(state_->OnConnected("uc1", {"v/0.0.0.0/c1"}, now_)), IsEmpty());
  Note(state_->OnDisconnected("uc1", now_));
  // It reconnects and does not know the check.
  EXPECT_THAT(Words(Note(state_->OnConnected("uc1", {}, now_))),
              ElementsAre("verdict v/0.0.0.0/c1", "start v/1.0.0.0/c1"));
  EXPECT_THAT(verdicts_, ElementsAre("c1 look unknown"));
  EXPECT_THAT(reasons_[0], HasSubstr("restarted while it ran"));
  // The start of this one may have been lost with the connection.
  Note(state_->OnDisconnected("uc1", now_));
  EXPECT_THAT(Words(Note(state_->OnConnected("uc1", {}, now_))), ElementsAre("start v/1.0.0.0/c1"));
}

TEST_F(ValidationStateTest, LostForGood) {
  SuiteCheck slow = Check(kPlainTcp);
  slow.time_limit = absl::Hours(1);
  Make(MakeSuite({Stage("a", {slow}), Stage("b", {Check(kPlainLook)})}), Nodes(2));
  BeginAll();
  Note(state_->OnDisconnected("uc2", now_));
  EXPECT_THAT(Later(kLostGrace - absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(Words(Later(absl::Seconds(1))),
              ElementsAre("verdict v/0.0.0.0/c2", "stop v/0.0.0.0/c1"));
  Report("v/0.0.0.0/c1", PartOutcome::kUnknown);
  EXPECT_EQ(PassAll(), 1);
  EXPECT_TRUE(state_->finished());
  EXPECT_THAT(verdicts_, ::testing::Contains("c2 look unknown"));
}

TEST_F(ValidationStateTest, NoReportInTime) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)})}), Nodes(1));
  BeginAll();
  EXPECT_THAT(Later(absl::Minutes(1) + kReportGrace - absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(Words(Later(absl::Seconds(1))),
              ElementsAre("stop v/0.0.0.0/c1", "verdict v/0.0.0.0/c1", "finish"));
  EXPECT_THAT(reasons_[0], HasSubstr("no report within its time limit of 1m30s"));
  EXPECT_THAT(Report("v/0.0.0.0/c1", PartOutcome::kPass), IsEmpty());
  EXPECT_THAT(verdicts_, ElementsAre("c1 look unknown"));
}

// Its report waits on the node: a link that was down past the time limit costs nothing.
TEST_F(ValidationStateTest, ReportAfterALossThatOutlastsTheTimeLimit) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)})}), Nodes(1));
  BeginAll();
  state_->OnUpdate("v/0.0.0.0/c1", std::nullopt, now_);
  Note(state_->OnDisconnected("uc1", now_));
  EXPECT_THAT(Later(absl::Minutes(4)), IsEmpty());
  EXPECT_THAT(Note(state_->OnConnected("uc1", {"v/0.0.0.0/c1"}, now_)), IsEmpty());
  EXPECT_THAT(Later(kReportGrace - absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(Words(Report("v/0.0.0.0/c1", PartOutcome::kPass)),
              ElementsAre("verdict v/0.0.0.0/c1", "finish"));
  EXPECT_THAT(verdicts_, ElementsAre("c1 look pass"));
}

TEST_F(ValidationStateTest, NoReportAlthoughItIsBack) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)})}), Nodes(1));
  BeginAll();
  state_->OnUpdate("v/0.0.0.0/c1", std::nullopt, now_);
  Note(state_->OnDisconnected("uc1", now_));
  Later(absl::Minutes(4));
  Note(state_->OnConnected("uc1", {"v/0.0.0.0/c1"}, now_));
  EXPECT_THAT(Words(Later(kReportGrace)),
              ElementsAre("stop v/0.0.0.0/c1", "verdict v/0.0.0.0/c1", "finish"));
  EXPECT_THAT(verdicts_, ElementsAre("c1 look unknown"));
}

// A loss never shortens what is left of the time limit.
TEST_F(ValidationStateTest, ShortLossLeavesTheTimeLimitAlone) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)})}), Nodes(1));
  BeginAll();
  state_->OnUpdate("v/0.0.0.0/c1", std::nullopt, now_);
  Note(state_->OnDisconnected("uc1", now_));
  Later(absl::Seconds(5));
  Note(state_->OnConnected("uc1", {"v/0.0.0.0/c1"}, now_));
  EXPECT_THAT(Later(absl::Minutes(1) + kReportGrace - absl::Seconds(6)), IsEmpty());
  EXPECT_THAT(Words(Later(absl::Seconds(1))).back(), "finish");
}

TEST_F(ValidationStateTest, StartThatWasLostWithTheLinkHasAllOfItsTime) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)})}), Nodes(1));
  BeginAll();
  Note(state_->OnDisconnected("uc1", now_));
  Later(absl::Minutes(4));
  EXPECT_THAT(Words(Note(state_->OnConnected("uc1", {}, now_))), ElementsAre("start v/0.0.0.0/c1"));
  EXPECT_EQ(stored_.at("v/0.0.0.0/c1").started_at, now_);
  EXPECT_THAT(Later(absl::Minutes(1) + kReportGrace - absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(Words(Later(absl::Seconds(1))).back(), "finish");
}

TEST_F(ValidationStateTest, CouldNotBeSent) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)})}), Nodes(1));
  BeginAll();
  Note(state_->OnSendFailed("v/0.0.0.0/c1", now_));
  EXPECT_THAT(Words(Later(absl::Seconds(1))), ElementsAre("start v/0.0.0.0/c1"));
  EXPECT_THAT(Words(Later(absl::Seconds(1))), IsEmpty());
}

TEST_F(ValidationStateTest, GroupDoesWithoutWhoIsAway) {
  std::vector<ValidationNode> nodes = Nodes(3);
  nodes[0].uuid.clear();
  Make(MakeSuite({Stage("a", {Check(kPlainRing)})}), nodes);
  EXPECT_THAT(Words(Note(state_->Begin({"uc2", "uc3"}, now_))),
              ElementsAre("verdict v/0.0.0.0/c1", "start v/0.0.0.0/c2", "start v/0.0.0.0/c3"));
  EXPECT_EQ(state_->Find("v/0.0.0.0/c2")->rank, 0u);
  EXPECT_EQ(state_->Find("v/0.0.0.0/c3")->rank, 1u);
  EXPECT_THAT(*state_->Find("v/0.0.0.0/c3")->members, ElementsAre("c2", "c3"));
  PassAll();
  EXPECT_TRUE(state_->finished());
}

TEST_F(ValidationStateTest, GroupStillDoesWithoutWhoIsAwayAfterARestart) {
  const Suite suite = MakeSuite({Stage("a", {Check(kPlainRing)})});
  std::vector<ValidationNode> nodes = Nodes(3);
  nodes[0].uuid.clear();
  Make(suite, nodes);
  Note(state_->Begin({"uc2", "uc3"}, now_));
  Make(suite, nodes, {}, Stored());
  EXPECT_THAT(Note(state_->Begin({"uc2", "uc3"}, now_)), IsEmpty());
  EXPECT_EQ(state_->Find("v/0.0.0.0/c2")->rank, 0u);
  EXPECT_EQ(state_->Find("v/0.0.0.0/c3")->rank, 1u);
  EXPECT_THAT(*state_->Find("v/0.0.0.0/c2")->members, ElementsAre("c2", "c3"));
  Note(state_->OnUpdate("v/0.0.0.0/c2", PeerEndpoint{"", 4000}, now_));
  EXPECT_THAT(Words(Note(state_->OnUpdate("v/0.0.0.0/c3", PeerEndpoint{"", 4001}, now_))),
              ElementsAre("connect v/0.0.0.0/c2", "connect v/0.0.0.0/c3"));
  EXPECT_EQ(state_->PeersOf(*state_->Find("v/0.0.0.0/c2")).size(), 2u);
  PassAll();
  EXPECT_TRUE(state_->finished());
  EXPECT_THAT(verdicts_,
              ElementsAre("c1 ring unknown", "c2 ring pass with c3", "c3 ring pass with c2"));
}

TEST_F(ValidationStateTest, GroupThatWasPutBackStillDoesWithoutWhoIsAwayAfterARestart) {
  const Suite suite = MakeSuite({Stage("a", {Check(kPlainRing)})});
  std::vector<ValidationNode> nodes = Nodes(3);
  nodes[0].uuid.clear();
  Make(suite, nodes);
  Note(state_->Begin({"uc2", "uc3"}, now_));
  std::vector<CheckPart> stored = Stored();
  for (CheckPart& part : stored) {
    if (part.node == "c1") continue;
    part.phase = PartPhase::kEnded;
    part.outcome = PartOutcome::kUnknown;
    part.put_back = true;
  }
  Make(suite, nodes, {}, stored);
  EXPECT_THAT(Words(Note(state_->Begin({"uc2", "uc3"}, now_))),
              ElementsAre("start v/0.0.0.1/c2", "start v/0.0.0.1/c3"));
  PassAll();
  EXPECT_TRUE(state_->finished());
}

// The controller was away for longer than the check takes; agents reconnect one after the other.
TEST_F(ValidationStateTest, ReportAfterAnOutageThatOutlastsTheTimeLimit) {
  const Suite suite = MakeSuite({Stage("a", {Check(kPlainLook)})});
  Make(suite, Nodes(2));
  BeginAll();
  now_ += absl::Minutes(20);
  Make(suite, Nodes(2), {}, Stored());
  EXPECT_THAT(Note(state_->Begin({}, now_)), IsEmpty());
  EXPECT_THAT(Later(absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(Note(state_->OnConnected("uc1", {"v/0.0.0.0/c1"}, now_)), IsEmpty());
  EXPECT_THAT(Later(absl::Seconds(1)), IsEmpty());
  Report("v/0.0.0.0/c1", PartOutcome::kPass);
  EXPECT_THAT(Later(kLostGrace - absl::Seconds(3)), IsEmpty());
  EXPECT_THAT(verdicts_, ElementsAre("c1 look pass"));
  // A node that does not reconnect within the time of a lost node is given up.
  EXPECT_THAT(Words(Later(absl::Seconds(1))), ElementsAre("verdict v/0.0.0.0/c2", "finish"));
  EXPECT_THAT(reasons_.back(), HasSubstr("lost while it ran"));
}

}  // namespace
}  // namespace muster::controller::validation
