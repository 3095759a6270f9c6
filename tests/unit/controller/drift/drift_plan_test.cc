#include "controller/drift/drift_plan.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::controller::drift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

// A worker that was applied two days ago and checked `ago`, with so many changes.
NodeView Checked(const std::string& name, absl::Duration ago, uint32_t changes = 0) {
  NodeView node;
  node.node = name;
  node.is_worker = node.is_free = true;
  node.applied = {"r-apply", kNow - absl::Hours(48), "check of bundle", "bundle", false};
  node.checked = {"r-check", kNow - ago - absl::Seconds(2), kNow - ago, changes, ""};
  return node;
}

NodeView Unchecked(const std::string& name) {
  NodeView node = Checked(name, absl::ZeroDuration());
  node.checked.reset();
  return node;
}

PolicyView View(std::vector<NodeView> nodes) {
  PolicyView view;
  view.every = absl::Hours(24);
  view.nodes = std::move(nodes);
  view.now = kNow;
  return view;
}

TEST(DriftPlan, TheStateFollowsFromTheLastApplyAndTheLastCheck) {
  EXPECT_EQ(StateOf(NodeView()), v1::DRIFT_STATE_NOT_APPLIED);
  EXPECT_EQ(StateOf(Unchecked("c001")), v1::DRIFT_STATE_NOT_CHECKED);
  NodeView node = Checked("c001", absl::Hours(1));
  EXPECT_EQ(StateOf(node), v1::DRIFT_STATE_AS_APPLIED);
  node.checked->changes = 2;
  EXPECT_EQ(StateOf(node), v1::DRIFT_STATE_DIFFERS);
  node.checked->failure = "it did not answer";
  EXPECT_EQ(StateOf(node), v1::DRIFT_STATE_UNKNOWN);
  // A check that began before the apply ended says nothing of what was applied.
  node.applied->finished_at = node.checked->created_at + absl::Seconds(1);
  EXPECT_EQ(StateOf(node), v1::DRIFT_STATE_NOT_CHECKED);
}

TEST(DriftPlan, NodesAreCheckedWhenTheirTimeHasComeTheUncheckedFirst) {
  const Decision decision =
      Decide(View({Checked("c001", absl::Hours(23)), Checked("c002", absl::Hours(25)),
                   Checked("c003", absl::Hours(30)), Unchecked("c004")}));
  EXPECT_THAT(decision.check, ElementsAre("c004", "c003", "c002"));
  EXPECT_EQ(decision.request, "check of bundle");
}

TEST(DriftPlan, WhatIsNotFreeOrWasNeverAppliedIsLeftAlone) {
  NodeView busy = Unchecked("c001");
  busy.is_free = false;
  NodeView bare = Unchecked("c002");
  bare.applied.reset();
  EXPECT_THAT(Decide(View({busy, bare})).check, IsEmpty());
}

// Its last apply may be one that the backup does not have.
TEST(DriftPlan, AfterARestoreANodeIsCheckedButNotRepairedUntilItIsApplied) {
  PolicyView view =
      View({Checked("c001", absl::Hours(25), 1), Checked("c002", absl::Hours(25), 1)});
  view.repairs = true;
  EXPECT_THAT(Decide(view).repair, ElementsAre("c001", "c002"));
  view.restored_at = view.nodes[0].applied->finished_at;
  view.nodes[1].applied->finished_at += absl::Seconds(1);
  const Decision decision = Decide(view);
  EXPECT_THAT(decision.check, ElementsAre("c001", "c002"));
  EXPECT_THAT(decision.repair, ElementsAre("c002"));
  EXPECT_THAT(decision.message, HasSubstr("c001"));
  EXPECT_THAT(decision.message, Not(HasSubstr("c002")));
}

TEST(DriftPlan, NodesThatWereAppliedOtherwiseAreCheckedApart) {
  NodeView other = Unchecked("c002");
  other.applied->check = "check of another bundle";
  const Decision decision = Decide(View({Unchecked("c001"), other, Unchecked("c003")}));
  EXPECT_THAT(decision.check, ElementsAre("c001", "c003"));
}

TEST(DriftPlan, OneCheckAtATimeAndTimeBetweenThem) {
  PolicyView view = View({Unchecked("c001")});
  view.is_checking = true;
  EXPECT_THAT(Decide(view).check, IsEmpty());
  view.is_checking = false;
  view.last_check = kNow - kLeastGap + absl::Seconds(1);
  EXPECT_THAT(Decide(view).check, IsEmpty());
  view.last_check = kNow - kLeastGap;
  EXPECT_THAT(Decide(view).check, SizeIs(1));
  view.last_check = kNow + absl::Hours(1);
  EXPECT_THAT(Decide(view).check, SizeIs(1)) << "a clock that was set back stops nothing";
}

// 6,400 nodes a day are a hundred checks.
TEST(DriftPlan, ALargeClusterIsSpreadOverTheInterval) {
  std::vector<NodeView> nodes;
  for (int i = 0; i < 6400; ++i) nodes.push_back(Unchecked(absl::StrCat("c", i)));
  PolicyView view = View(std::move(nodes));
  view.every = absl::Hours(10);
  view.last_check = kNow - absl::Minutes(5);
  EXPECT_THAT(Decide(view).check, IsEmpty());
  view.last_check = kNow - absl::Minutes(6);
  EXPECT_THAT(Decide(view).check, SizeIs(kBatch));
}

TEST(DriftPlan, AFailedCheckIsTriedAgainSooner) {
  NodeView node = Checked("c001", absl::Minutes(59));
  node.checked->failure = "it did not answer";
  EXPECT_THAT(Decide(View({node})).check, IsEmpty());
  node.checked->finished_at = kNow - absl::Minutes(60);
  EXPECT_THAT(Decide(View({node})).check, SizeIs(1));
}

TEST(DriftPlan, AClockThatWasSetBackLetsNobodyWait) {
  EXPECT_THAT(Decide(View({Checked("c001", -absl::Hours(2))})).check, SizeIs(1));
}

TEST(DriftPlan, OnlyAPolicyThatSaysSoRepairs) {
  PolicyView view = View({Checked("c001", absl::Hours(1), 2), Checked("c002", absl::Hours(1))});
  EXPECT_THAT(Decide(view).repair, IsEmpty());
  view.repairs = true;
  const Decision decision = Decide(view);
  EXPECT_THAT(decision.repair, ElementsAre("c001"));
  EXPECT_EQ(decision.bundle, "bundle");
  EXPECT_EQ(decision.message, "");
  view.is_repairing = true;
  EXPECT_THAT(Decide(view).repair, IsEmpty());
}

TEST(DriftPlan, WhatIsNotRepairedIsSaid) {
  NodeView login = Checked("login1", absl::Hours(1), 1);
  login.is_worker = false;
  NodeView by_hand = Checked("c001", absl::Hours(1), 1);
  by_hand.applied->has_variables = true;
  NodeView again = Checked("c002", absl::Hours(1), 1);
  again.repair = {"u-1", kNow - absl::Hours(23), /*is_done=*/true};
  PolicyView view = View({login, by_hand, again, Checked("c003", absl::Hours(1))});
  view.repairs = true;
  const Decision decision = Decide(view);
  EXPECT_THAT(decision.repair, IsEmpty());
  for (const char* node : {"login1", "c001", "c002"})
    EXPECT_THAT(decision.message, HasSubstr(node));
  EXPECT_THAT(decision.message, ::testing::Not(HasSubstr("c003")));
  view.nodes[2].repair->created_at = kNow - kRepairPause;
  EXPECT_THAT(Decide(view).repair, ElementsAre("c002"));
}

// It had jobs, and its rollout left it out.
TEST(DriftPlan, ARepairFollowsEachCheckOnce) {
  NodeView node = Checked("c001", absl::Hours(1), 1);
  node.repair = {"u-1", kNow - absl::Minutes(50), /*is_done=*/false};
  PolicyView view = View({node});
  view.repairs = true;
  EXPECT_THAT(Decide(view).repair, IsEmpty());
  view.nodes[0].checked->created_at = kNow - absl::Minutes(40);
  EXPECT_THAT(Decide(view).repair, SizeIs(1));
}

}  // namespace
}  // namespace muster::controller::drift
