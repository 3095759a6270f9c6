#include "controller/rollout/plan/update_policy_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/rollout/rollout_views.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;

constexpr char kOld[] = "1111111111111111", kNew[] = "2222222222222222";
constexpr char kBefore[] = "inventory of before", kNow[] = "inventory of now";

// A new bundle was accepted an hour ago, and nothing was tried.
PolicyView Fresh() {
  PolicyView view;
  view.playbook = "playbooks/site.yaml";
  view.content = kNow;
  view.revision = 7;
  view.accepted = PolicyView::Acceptance{kNew, "admin:ann", Noon() - absl::Hours(1), ""};
  view.now = Noon();
  view.zone = absl::UTCTimeZone();
  return view;
}

PolicyView::Attempt Tried(PolicyPair pair, v1::RolloutState state) {
  PolicyView::Attempt attempt;
  attempt.rollout_id = "u-last";
  attempt.pair = std::move(pair);
  attempt.state = state;
  attempt.created_at = Noon() - absl::Minutes(40);
  const bool has_ended = state == v1::ROLLOUT_STATE_COMPLETED ||
                         state == v1::ROLLOUT_STATE_ABORTED ||
                         state == v1::ROLLOUT_STATE_ROLLED_BACK;
  if (has_ended) attempt.finished_at = Noon() - absl::Minutes(20);
  return attempt;
}

TEST(UpdatePolicyPlan, StartsWhatIsNew) {
  const PolicyDecision decision = DecidePolicy(Fresh());
  EXPECT_TRUE(decision.starts);
  EXPECT_THAT(decision.message, Said());
}

TEST(UpdatePolicyPlan, WithoutAnAcceptedBundleNothingStarts) {
  PolicyView view = Fresh();
  view.accepted->revoked_by = "admin:eve";
  PolicyDecision decision = DecidePolicy(view);
  EXPECT_FALSE(decision.starts);
  EXPECT_EQ(decision.state, v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(decision.message, Said());
  view.accepted.reset();
  decision = DecidePolicy(view);
  EXPECT_FALSE(decision.starts);
  EXPECT_EQ(decision.state, v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(decision.message, Said());
}

// Everything that the last try may have been about, by everything that it may have come to: it
// starts exactly where a person would expect it to.
TEST(UpdatePolicyPlan, AfterTheLastTry) {
  const PolicyPair pairs[] = {{kOld, kBefore}, {kOld, kNow}, {kNew, kBefore}, {kNew, kNow}};
  const v1::RolloutState states[] = {v1::ROLLOUT_STATE_ROLLING,      v1::ROLLOUT_STATE_SOAKING,
                                     v1::ROLLOUT_STATE_PAUSED,       v1::ROLLOUT_STATE_ABORTING,
                                     v1::ROLLOUT_STATE_ROLLING_BACK, v1::ROLLOUT_STATE_COMPLETED,
                                     v1::ROLLOUT_STATE_ABORTED,      v1::ROLLOUT_STATE_ROLLED_BACK};
  for (const PolicyPair& pair : pairs) {
    for (const v1::RolloutState state : states) {
      for (const bool is_accepted_again : {false, true}) {
        SCOPED_TRACE(absl::StrCat(pair.bundle, ", ", pair.content, ", ", RolloutState_Name(state),
                                  is_accepted_again ? ", accepted again" : ""));
        PolicyView view = Fresh();
        view.last = Tried(pair, state);
        if (is_accepted_again) view.accepted->at = Noon() - absl::Minutes(10);
        const bool is_open = !view.last->finished_at.has_value();
        const bool is_same = pair == PolicyPair{kNew, kNow};
        const bool is_done = state == v1::ROLLOUT_STATE_COMPLETED;
        const PolicyDecision decision = DecidePolicy(view);
        EXPECT_EQ(decision.starts, !is_open && (!is_same || (!is_done && is_accepted_again)));
        if (is_open) {
          EXPECT_EQ(decision.state, state == v1::ROLLOUT_STATE_PAUSED
                                        ? v1::UPDATE_POLICY_STATE_STOPPED
                                        : v1::UPDATE_POLICY_STATE_RUNNING);
        } else if (is_same && is_done) {
          EXPECT_EQ(decision.state, v1::UPDATE_POLICY_STATE_UP_TO_DATE);
        } else if (!decision.starts) {
          EXPECT_EQ(decision.state, v1::UPDATE_POLICY_STATE_STOPPED);
        }
      }
    }
  }
}

// The last node of a rollout that pauses has nothing after it that could be held back.
TEST(UpdatePolicyPlan, WhatCompletedWithTooManyFailuresIsNotUpToDate) {
  PolicyView view = Fresh();
  view.last = Tried({kNew, kNow}, v1::ROLLOUT_STATE_COMPLETED);
  view.last->message = "1 node failed (c003), and the failure budget is 0";
  EXPECT_EQ(DecidePolicy(view).state, v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(DecidePolicy(view).message, Said());
  view.accepted->at = Noon() - absl::Minutes(10);
  EXPECT_TRUE(DecidePolicy(view).starts);
}

TEST(UpdatePolicyPlan, WhatSomebodyAppliedCountsOnlyAfterTheLastTry) {
  PolicyView view = Fresh();
  view.applied = PolicyView::Application{"r-hand", {kNew, kNow}, Noon() - absl::Hours(5)};
  EXPECT_EQ(DecidePolicy(view).state, v1::UPDATE_POLICY_STATE_UP_TO_DATE);
  EXPECT_THAT(DecidePolicy(view).message, Said());
  view.applied->pair.content = kBefore;
  EXPECT_TRUE(DecidePolicy(view).starts) << "the inventory has changed since";
  // Half of the nodes have something else by now.
  view.applied->pair.content = kNow;
  view.last = Tried({kOld, kBefore}, v1::ROLLOUT_STATE_ABORTED);
  EXPECT_TRUE(DecidePolicy(view).starts);
  // By hand, after the policy gave up.
  view.last = Tried({kNew, kNow}, v1::ROLLOUT_STATE_ROLLED_BACK);
  EXPECT_EQ(DecidePolicy(view).state, v1::UPDATE_POLICY_STATE_STOPPED);
  view.applied->finished_at = Noon() - absl::Minutes(5);
  EXPECT_EQ(DecidePolicy(view).state, v1::UPDATE_POLICY_STATE_UP_TO_DATE);
}

TEST(UpdatePolicyPlan, SaysWhyItStopped) {
  PolicyView view = Fresh();
  view.last = Tried({kNew, kNow}, v1::ROLLOUT_STATE_PAUSED);
  view.last->message = "1 node failed (c003), and the failure budget is 0";
  EXPECT_THAT(DecidePolicy(view).message, Said());
  view.last = Tried({kNew, kNow}, v1::ROLLOUT_STATE_ROLLED_BACK);
  view.last->message = "1 node failed (c003), and the failure budget is 0; u-back takes it back";
  EXPECT_THAT(DecidePolicy(view).message, Said());
  view.last = Tried({kOld, kNow}, v1::ROLLOUT_STATE_ROLLING);
  EXPECT_THAT(DecidePolicy(view).message, Said()) << "the newer bundle follows";
}

// A whole week, minute by minute: it starts inside the window alone, and otherwise names the next.
TEST(UpdatePolicyPlan, StartsInsideTheWindowAlone) {
  PolicyView view = Fresh();
  view.windows = {ParseWindow("Sat 22:00-06:00").value(), ParseWindow("Tue 12:00-13:00").value()};
  int started = 0;
  for (int minute = 0; minute < 7 * 24 * 60; ++minute) {
    view.now = Noon() + absl::Minutes(minute);
    const PolicyDecision decision = DecidePolicy(view);
    EXPECT_EQ(decision.starts, IsOpen(view.windows, view.now, view.zone));
    EXPECT_EQ(decision.state == v1::UPDATE_POLICY_STATE_PENDING, !decision.starts);
    started += decision.starts;
  }
  EXPECT_EQ(started, 9 * 60);
  view.now = Noon();
  EXPECT_THAT(DecidePolicy(view).message, Said());
}

TEST(UpdatePolicyPlan, WaitsForRolloutsOfOthers) {
  PolicyView view = Fresh();
  view.others = {{"u-other", "admin:bob"}};
  const PolicyDecision decision = DecidePolicy(view);
  EXPECT_FALSE(decision.starts);
  EXPECT_EQ(decision.state, v1::UPDATE_POLICY_STATE_WAITING);
  EXPECT_THAT(decision.message, Said());
}

TEST(UpdatePolicyPlan, ARefusalIsTriedAgainLaterOrWithSomethingElse) {
  PolicyView view = Fresh();
  view.refused = PolicyView::Refusal{{kNew, kNow},
                                     "playbooks/site.yaml:3:5: unknown role 'slurmm'",
                                     false,
                                     Noon() + absl::Minutes(1)};
  EXPECT_FALSE(DecidePolicy(view).starts);
  EXPECT_EQ(DecidePolicy(view).state, v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(DecidePolicy(view).message, Said());
  view.refused->may_pass = true;
  EXPECT_EQ(DecidePolicy(view).state, v1::UPDATE_POLICY_STATE_WAITING);
  view.now = Noon() + absl::Minutes(1);
  EXPECT_TRUE(DecidePolicy(view).starts);
  view.now = Noon();
  view.refused->pair.content = kBefore;
  EXPECT_TRUE(DecidePolicy(view).starts);
}

}  // namespace
}  // namespace muster::controller::rollout
