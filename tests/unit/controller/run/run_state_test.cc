#include "controller/run/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

std::vector<std::string> Words(const RunActions& actions) {
  static const char* const kNames[] = {"next", "started", "facts",    "compile",
                                       "send", "cancel",  "finished", "end"};
  std::vector<std::string> words;
  for (const RunAction& action : actions) {
    words.push_back(absl::StrCat(kNames[action.kind], action.node.empty() ? "" : " ", action.node));
  }
  return words;
}

class RunStateTest : public ::testing::Test {
 protected:
  // Nodes a and b in plays 0 and 1, c in play 1 only.
  RunStateTest() : state_({Node("a", {0, 1}), Node("b", {0, 1}), Node("c", {1})}, 2) {}

  static RunNode Node(const std::string& name, std::set<uint32_t> plays) {
    RunNode node;
    node.name = name;
    node.plays = std::move(plays);
    return node;
  }
  static std::map<std::string, NodeLink> Links(const std::set<std::string>& connected) {
    std::map<std::string, NodeLink> links;
    for (const char* name : {"a", "b", "c"}) {
      links[name] = {absl::StrCat("u", name), connected.count(name) > 0};
    }
    return links;
  }
  // Advances to the point where all connected nodes of `play` have their plans.
  RunActions Begin(uint32_t play, const std::set<std::string>& connected) {
    state_.StartPlay(play, Links(connected), false, now_);
    state_.FactsAsked({}, now_);
    return state_.Compiled(state_.PlanTargets(), {});
  }
  RunActions Outcome(const std::string& name, bool succeeded) {
    RunNode node = *state_.FindByName(name);
    ApplyOutcome(node, state_.play(), succeeded, false, succeeded ? "" : "broke");
    return state_.Replace({node});
  }
  NodePhase Phase(const std::string& name) { return state_.FindByName(name)->phase; }

  absl::Time now_ = kStart;
  RunState state_;
};

TEST_F(RunStateTest, PlaysAreBarriers) {
  EXPECT_THAT(Words(state_.StartPlay(0, Links({"a", "b", "c"}), false, now_)),
              ElementsAre("started", "facts"));
  EXPECT_THAT(Words(state_.FactsAsked({"ua", "uc"}, now_)), IsEmpty());
  EXPECT_THAT(Words(state_.OnFacts("ua")), IsEmpty());
  EXPECT_THAT(Words(state_.OnFacts("ua")), IsEmpty());
  EXPECT_THAT(Words(state_.OnFacts("uc")), ElementsAre("compile"));
  EXPECT_THAT(state_.PlanTargets(), ElementsAre("a", "b"));
  EXPECT_THAT(Words(state_.Compiled(state_.PlanTargets(), {})), ElementsAre("send a", "send b"));
  EXPECT_THAT(Words(Outcome("a", true)), ElementsAre("finished a"));
  EXPECT_THAT(Words(Outcome("b", true)), ElementsAre("finished b", "next"));
  Begin(1, {"a", "b", "c"});
  Outcome("a", true);
  Outcome("b", true);
  EXPECT_THAT(Words(Outcome("c", true)), ElementsAre("finished c", "end"));
  EXPECT_TRUE(state_.finished());
}

// Nodes whose facts were refused, and a node outside the run.
TEST_F(RunStateTest, RefusedFactsFailTheirNodeAndDelayNobody) {
  state_.StartPlay(0, Links({"a", "b", "c"}), false, now_);
  state_.FactsAsked({"ua", "ub", "uc"}, now_);
  EXPECT_THAT(Words(state_.OnFactsRefused("ua", "the field")), ElementsAre("finished a"));
  EXPECT_THAT(Words(state_.OnFactsRefused("ua", "again")), IsEmpty());
  EXPECT_EQ(Phase("a"), NodePhase::kFailed);
  EXPECT_EQ(state_.FindByName("a")->message, "the field");
  EXPECT_THAT(Words(state_.OnFactsRefused("uc", "not of this play")), IsEmpty());
  EXPECT_THAT(Words(state_.OnFacts("ub")), ElementsAre("compile"));
  EXPECT_THAT(state_.PlanTargets(), ElementsAre("b"));
}

TEST_F(RunStateTest, NodeThatFailedTakesNoPartInLaterPlays) {
  Begin(0, {"a", "b", "c"});
  Outcome("a", false);
  EXPECT_THAT(Words(Outcome("b", true)), ElementsAre("finished b", "next"));
  EXPECT_THAT(Words(Begin(1, {"a", "b", "c"})), ElementsAre("send b", "send c"));
  EXPECT_EQ(Phase("a"), NodePhase::kFailed);
  EXPECT_EQ(state_.FindByName("a")->message, "broke");
}

TEST_F(RunStateTest, PlayWithoutNodesLeftIsPassedOver) {
  Begin(0, {"a", "b"});
  Outcome("a", false);
  EXPECT_THAT(Words(Outcome("b", false)), ElementsAre("finished b", "next"));
  EXPECT_THAT(Words(state_.StartPlay(1, Links({"c"}), false, now_)),
              ElementsAre("started", "facts"));
  RunState only({Node("a", {0})}, 3);
  only.StartPlay(0, Links({"a"}), false, now_);
  only.FactsAsked({}, now_);
  only.Compiled(only.PlanTargets(), {{"a", absl::InvalidArgumentError("undefined variable")}});
  EXPECT_EQ(only.FindByName("a")->message, "undefined variable");
  EXPECT_THAT(Words(only.StartPlay(1, Links({"a"}), false, now_)), ElementsAre("end"));
}

TEST_F(RunStateTest, NodeWithNothingToDoIsDoneWithoutAPlan) {
  state_.StartPlay(0, Links({"a"}), false, now_);
  state_.FactsAsked({}, now_);
  EXPECT_THAT(Words(state_.Compiled({"a"}, {}, {"a"})), ElementsAre("finished a"));
  EXPECT_EQ(Phase("a"), NodePhase::kDone);
  EXPECT_THAT(state_.PlanTargets(), ElementsAre("b"));
  EXPECT_THAT(Words(state_.OnConnected("ua", "boot")), IsEmpty());
  EXPECT_THAT(Words(state_.Compiled({"b"}, {}, {"b"})), ElementsAre("finished b", "next"));
  EXPECT_EQ(state_.FindByName("a")->message, "");
}

TEST_F(RunStateTest, CompileErrorFailsOneNodeAlone) {
  state_.StartPlay(0, Links({"a", "b"}), false, now_);
  state_.FactsAsked({}, now_);
  EXPECT_THAT(Words(state_.Compiled(state_.PlanTargets(),
                                    {{"a", absl::InvalidArgumentError("x.yaml:3:1: bad")}})),
              ElementsAre("finished a", "send b"));
  EXPECT_EQ(Phase("a"), NodePhase::kFailed);
  EXPECT_EQ(state_.FindByName("a")->failed, 1u);
}

TEST_F(RunStateTest, SilentNodeDelaysFactsOnlyForAWhile) {
  state_.StartPlay(0, Links({"a", "b"}), false, now_);
  state_.FactsAsked({"ua", "ub"}, now_);
  EXPECT_THAT(Words(state_.Tick(now_ + absl::Seconds(14))), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + kFactsWait)), ElementsAre("compile"));
}

TEST_F(RunStateTest, NodeLostWhileFactsAreGatheredDelaysNobody) {
  state_.StartPlay(0, Links({"a", "b"}), false, now_);
  state_.FactsAsked({"ua"}, now_);
  EXPECT_THAT(Words(state_.OnDisconnected("ua", now_)), ElementsAre("compile"));
}

TEST_F(RunStateTest, AbsentNodeGetsItsPlanWhenItComesInTime) {
  EXPECT_THAT(Words(Begin(0, {"a"})), ElementsAre("send a"));
  EXPECT_THAT(Words(state_.Tick(now_ + absl::Seconds(9))), IsEmpty());
  EXPECT_THAT(Words(state_.OnConnected("ub", "boot")), ElementsAre("send b"));
  for (const char* uuid : {"ua", "ub"}) state_.OnReceipt(uuid, 0, true, "");
  EXPECT_THAT(Words(state_.Tick(now_ + absl::Minutes(5))), IsEmpty());
}

TEST_F(RunStateTest, ConnectedNodeThatAnswersNothingFails) {
  EXPECT_THAT(Words(Begin(0, {"a", "b"})), ElementsAre("send a", "send b"));
  state_.OnReceipt("ub", 0, true, "");
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + kReceiptWait - absl::Seconds(1))), IsEmpty());
  state_.Tick(now_ + kReceiptWait);
  EXPECT_EQ(state_.FindByName("a")->phase, NodePhase::kFailed);
  EXPECT_EQ(state_.FindByName("b")->phase, NodePhase::kRunning);
}

TEST_F(RunStateTest, AbsentNodeBecomesUnreachableAndTheOthersGoOn) {
  Begin(0, {"a"});
  Outcome("a", true);
  EXPECT_THAT(Words(state_.Tick(now_ + kPlayConnectGrace)), ElementsAre("finished b", "next"));
  EXPECT_EQ(Phase("b"), NodePhase::kUnreachable);
  EXPECT_THAT(state_.FindByName("b")->message, HasSubstr("not connected"));
}

TEST_F(RunStateTest, NodeThatIsNotEnrolledIsUnreachableAtOnce) {
  auto links = Links({"a"});
  links.erase("b");
  EXPECT_THAT(Words(state_.StartPlay(0, links, false, now_)),
              ElementsAre("started", "finished b", "facts"));
  EXPECT_THAT(state_.FindByName("b")->message, HasSubstr("muster node bootstrap --ssh b"));
}

TEST_F(RunStateTest, LostNodeGetsThePlanAgainWhenItIsBackInTime) {
  Begin(0, {"a", "b"});
  EXPECT_THAT(Words(state_.OnDisconnected("ua", now_)), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + absl::Seconds(14))), IsEmpty());
  EXPECT_THAT(Words(state_.OnConnected("ua", "boot")), ElementsAre("send a"));
  EXPECT_EQ(Phase("a"), NodePhase::kRunning);
}

TEST_F(RunStateTest, LateOutcomeLeavesAnUnreachableNodeUnreachable) {
  Begin(0, {"a", "b"});
  state_.OnDisconnected("ua", now_);
  EXPECT_THAT(Words(state_.Tick(now_ + kReconnectGrace)), ElementsAre("finished a"));
  EXPECT_THAT(Words(state_.OnConnected("ua", "boot")), IsEmpty());
  EXPECT_TRUE(state_.FindByName("a")->came_back);
  EXPECT_THAT(Words(Outcome("a", true)), IsEmpty());
  EXPECT_EQ(Phase("a"), NodePhase::kUnreachable);
}

TEST_F(RunStateTest, RefusedPlanFailsTheNode) {
  Begin(0, {"a", "b"});
  EXPECT_THAT(Words(state_.OnReceipt("ua", 0, true, "")), IsEmpty());
  EXPECT_THAT(Words(state_.OnReceipt("ub", 0, false, "plan expired 5m ago")),
              ElementsAre("finished b"));
  EXPECT_THAT(state_.FindByName("b")->message, HasSubstr("plan expired 5m ago"));
  EXPECT_THAT(Words(state_.OnReceipt("ua", 1, false, "of another play")), IsEmpty());
}

TEST_F(RunStateTest, PlanThatCouldNotBeSentIsSentAgain) {
  Begin(0, {"a", "b"});
  state_.OnSendFailed("a");
  EXPECT_THAT(Words(state_.Tick(now_)), ElementsAre("send a"));
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
}

TEST_F(RunStateTest, CancelWaitsOnlyForNodesThatHoldAPlan) {
  Begin(0, {"a", "b"});
  state_.OnReceipt("ua", 0, true, "");
  EXPECT_THAT(Words(state_.Cancel()),
              ElementsAre("cancel a", "cancel b", "finished b", "finished c"));
  EXPECT_THAT(Words(state_.Cancel()), IsEmpty());
  RunNode node = *state_.FindByName("a");
  ApplyOutcome(node, 0, false, true, "cancelled");
  EXPECT_THAT(Words(state_.Replace({node})), ElementsAre("finished a", "end"));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(Phase(name), NodePhase::kCancelled) << name;
}

TEST_F(RunStateTest, CancelDoesNotWaitForEverForWhoOnlyBeats) {
  Begin(0, {"a", "b"});
  state_.OnReceipt("ua", 0, true, "");
  state_.OnReceipt("ub", 0, true, "");
  now_ += absl::Hours(5);  // the plan may take long; only cancelling has a time limit
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
  state_.Cancel();
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + kCancelWait - absl::Seconds(1))), IsEmpty());
  RunNode node = *state_.FindByName("b");
  ApplyOutcome(node, 0, false, true, "cancelled");
  EXPECT_THAT(Words(state_.Replace({node})), ElementsAre("finished b"));
  EXPECT_THAT(Words(state_.Tick(now_ + kCancelWait)), ElementsAre("finished a", "end"));
  EXPECT_EQ(Phase("a"), NodePhase::kCancelled);
  EXPECT_THAT(state_.FindByName("a")->message, HasSubstr("did not confirm within 15m"));
  EXPECT_EQ(state_.FindByName("b")->message, "cancelled");
}

TEST_F(RunStateTest, CancelReachesANodeThatWasAway) {
  Begin(0, {"a", "b"});
  state_.OnReceipt("ua", 0, true, "");
  state_.OnDisconnected("ua", now_);
  state_.Cancel();
  EXPECT_THAT(Words(state_.OnConnected("ua", "boot")), ElementsAre("cancel a"));
}

// All nodes wait again then, and only their agents know who has a plan.
TEST_F(RunStateTest, CancelAfterARestartStopsAndAwaitsWhoHasThePlan) {
  for (const bool compiles : {false, true}) {
    SCOPED_TRACE(compiles);
    std::vector<RunNode> nodes = {Node("a", {0}), Node("b", {0}), Node("c", {0})};
    for (RunNode& node : nodes) node.phase = NodePhase::kRunning;
    RunState state(nodes, 1);
    state.StartPlay(0, Links({}), true, now_);
    state.OnConnected("ua", "boot", /*has_plan=*/true);
    state.OnConnected("ub", "boot");
    state.FactsAsked({"ua", "ub"}, now_);
    if (compiles)
      for (const char* uuid : {"ua", "ub"}) state.OnFacts(uuid);
    EXPECT_THAT(Words(state.Cancel()),
                ElementsAre("cancel a", "cancel b", "finished b", "finished c"));
    // Nothing begins by what still happens meanwhile.
    for (const char* uuid : {"ua", "ub"}) EXPECT_THAT(Words(state.OnFacts(uuid)), IsEmpty());
    EXPECT_THAT(state.PlanTargets(), IsEmpty());
    EXPECT_THAT(Words(state.Compiled({"a"}, {})), IsEmpty());
    EXPECT_THAT(Words(state.Tick(now_)), IsEmpty());
    EXPECT_THAT(Words(state.OnConnected("uc", "boot", /*has_plan=*/true)), ElementsAre("cancel c"));
    RunNode node = *state.FindByName("a");
    ApplyOutcome(node, 0, false, true, "cancelled");
    EXPECT_THAT(Words(state.Replace({node})), ElementsAre("finished a", "end"));
  }
}

TEST_F(RunStateTest, CancelAfterARestartHasTheSameTimeLimit) {
  RunState state({Node("a", {0})}, 1);
  state.StartPlay(0, Links({}), true, now_);
  state.OnConnected("ua", "boot", /*has_plan=*/true);
  EXPECT_THAT(Words(state.Cancel()), ElementsAre("cancel a"));
  EXPECT_THAT(Words(state.Tick(now_)), IsEmpty());
  EXPECT_THAT(Words(state.Tick(now_ + kCancelWait - absl::Seconds(1))), IsEmpty());
  EXPECT_THAT(Words(state.Tick(now_ + kCancelWait)), ElementsAre("finished a", "end"));
}

TEST_F(RunStateTest, RestartKeepsWhatIsDoneAndWaitsLongerForAgents) {
  RunNode done = Node("a", {0, 1});
  done.phase = NodePhase::kDone;
  RunNode running = Node("b", {0, 1});
  running.phase = NodePhase::kRunning;
  RunState state({done, running}, 2);
  state.StartPlay(0, Links({}), true, now_);
  state.FactsAsked({}, now_);
  EXPECT_THAT(state.PlanTargets(), ElementsAre("b"));
  EXPECT_THAT(Words(state.Compiled(state.PlanTargets(), {})), IsEmpty());
  EXPECT_THAT(Words(state.Tick(now_ + absl::Seconds(59))), IsEmpty());
  EXPECT_THAT(Words(state.OnConnected("ub", "boot")), ElementsAre("send b"));
}

TEST(CountStep, ReplacesAnEarlierResultOfTheSameStep) {
  RunNode node;
  CountStep(node, std::nullopt, StepOutcome::kFailed);
  CountStep(node, std::nullopt, StepOutcome::kOk);
  CountStep(node, StepOutcome::kFailed, StepOutcome::kChanged);
  EXPECT_EQ(node.failed, 0u);
  EXPECT_EQ(node.ok, 1u);
  EXPECT_EQ(node.changed, 1u);
}

TEST(NodePhase, HasAWordForEach) {
  for (int i = 0; i <= static_cast<int>(NodePhase::kCancelled); ++i) {
    const auto phase = static_cast<NodePhase>(i);
    EXPECT_EQ(ParseNodePhase(NodePhaseName(phase)), phase);
  }
}

// Each wait lasts as long as it would have, whichever call sees first that the clock was set back.
TEST_F(RunStateTest, AClockThatIsSetBackMakesNoWaitLonger) {
  constexpr absl::Duration kSecond = absl::Seconds(1);
  state_.StartPlay(0, Links({"a"}), false, now_);
  state_.FactsAsked({"ua"}, now_);
  now_ -= absl::Hours(1);
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + kPlayConnectGrace)), ElementsAre("finished b"));
  EXPECT_THAT(Words(state_.Tick(now_ + kFactsWait)), ElementsAre("compile"));
  now_ += kFactsWait;
  state_.Compiled(state_.PlanTargets(), {});

  now_ -= absl::Hours(1);
  state_.OnDisconnected("ua", now_);
  EXPECT_THAT(Words(state_.Tick(now_ + kReconnectGrace - kSecond)), IsEmpty());
  now_ -= absl::Hours(1);
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
  EXPECT_THAT(Words(state_.OnConnected("ua", "boot")), ElementsAre("send a"));

  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());  // waits for the receipt
  now_ -= absl::Hours(1);
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + kReceiptWait - kSecond)), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + kReceiptWait)), ElementsAre("finished a", "next"));
}

TEST_F(RunStateTest, AClockThatIsSetBackMakesNoCancelLonger) {
  Begin(0, {"a", "b"});
  for (const char* uuid : {"ua", "ub"}) state_.OnReceipt(uuid, 0, true, "");
  state_.Cancel();
  state_.Tick(now_);
  now_ -= absl::Hours(1);
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + kCancelWait)),
              ElementsAre("finished a", "finished b", "end"));
}

TEST_F(RunStateTest, AClockThatIsSetBackMakesNoRebootLonger) {
  Begin(0, {"a", "b"});
  state_.OnReceipt("ub", 0, true, "");
  RunNode node = *state_.FindByName("a");
  node.reboot = NodeReboot{"boot", "r/reboot", now_ + absl::Minutes(10)};
  state_.Replace({node});
  now_ -= absl::Hours(1);
  state_.OnDisconnected("ua", now_);
  EXPECT_THAT(Words(state_.Tick(now_ + absl::Minutes(9))), IsEmpty());
  now_ -= absl::Hours(1);
  EXPECT_THAT(Words(state_.Tick(now_)), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + absl::Seconds(59))), IsEmpty());
  EXPECT_THAT(Words(state_.Tick(now_ + absl::Minutes(1))), ElementsAre("finished a"));
}

}  // namespace
}  // namespace muster::controller
