#include "controller/rollout/plan/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/rollout/rollout_views.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::testing::IsEmpty;

constexpr absl::Duration kUpdate = absl::Minutes(20);

// So many nodes, each with a job that has so long to go.
RolloutView Busy(int nodes, uint32_t max_unavailable, absl::Duration left) {
  RolloutView view = ClusterOf(nodes, max_unavailable);
  view.wave_since = view.now;
  for (NodeView& node : view.nodes) node.jobs = {JobOf(left)};
  return view;
}

TEST(Estimate, IdleNodesTakeTheirUpdatesAloneInRounds) {
  EXPECT_EQ(EstimateRollout(Busy(6, 1, absl::ZeroDuration()), kUpdate).total, 6 * kUpdate);
  EXPECT_EQ(EstimateRollout(Busy(6, 2, absl::ZeroDuration()), kUpdate).total, 3 * kUpdate);
  EXPECT_EQ(EstimateRollout(Busy(6, 4, absl::ZeroDuration()), kUpdate).total, 2 * kUpdate);
}

// A node that waits for its turn gets new jobs meanwhile.
TEST(Estimate, EachNodeHasItsJobsWhenItsTurnComes) {
  const Estimate estimate = EstimateRollout(Busy(4, 2, absl::Hours(3)), kUpdate);
  EXPECT_EQ(estimate.total, 2 * (absl::Hours(3) + kUpdate));
  EXPECT_THAT(estimate.endless, IsEmpty());
  EXPECT_EQ(estimate.left_out, 0u);
}

TEST(Estimate, WavesWaitForTheirLastNodeAndAreWatched) {
  RolloutView view = Busy(5, 5, absl::Hours(1));
  view.nodes[4].jobs = {JobOf(absl::Hours(7))};
  view.limits.wave_sizes = {1, 5};
  view.limits.soak = absl::Minutes(30);
  // A canary of one hour, its soak, and then all others, of which one takes seven.
  EXPECT_EQ(EstimateRollout(view, kUpdate).total,
            absl::Hours(1) + kUpdate + absl::Minutes(30) + absl::Hours(7) + kUpdate);
}

TEST(Estimate, NodesAreTakenInTheWindowAndFinishedAfterIt) {
  RolloutView view = Busy(2, 1, absl::Hours(1));  // Monday noon
  view.limits.windows = {ParseWindow("22:00-23:00").value()};
  // Monday 22:00, and a day later.
  EXPECT_EQ(EstimateRollout(view, kUpdate).total, absl::Hours(10 + 24 + 1) + kUpdate);
}

TEST(Estimate, KeepsToTheLimitOfARack) {
  RolloutView view = Busy(4, 4, absl::ZeroDuration());
  for (NodeView& node : view.nodes) node.rack = "r1";
  view.limits.max_per_rack = 1;
  EXPECT_EQ(EstimateRollout(view, kUpdate).total, 4 * kUpdate);
}

TEST(Estimate, JobsWithoutALimitAreNamedAsTheReasonThatThereIsNoEnd) {
  RolloutView view = Busy(2, 1, absl::Hours(1));
  view.nodes[1].jobs = {JobOf(absl::InfiniteDuration(), "4712")};
  const Estimate estimate = EstimateRollout(view, kUpdate);
  EXPECT_EQ(estimate.total, absl::InfiniteDuration());
  EXPECT_THAT(estimate.endless, Said());
}

TEST(Estimate, ABrokenNodeThatTakesTheOnlySlotIsNamedToo) {
  RolloutView view = Busy(2, 1, absl::ZeroDuration());
  view.nodes[0] = DrainedByRoot("c001");
  const Estimate estimate = EstimateRollout(view, kUpdate);
  EXPECT_EQ(estimate.total, absl::InfiniteDuration());
  EXPECT_THAT(estimate.endless, Said());
}

TEST(Estimate, PassedOverNodesAreTriedTwiceAndLeftOut) {
  RolloutView view = Busy(2, 1, absl::Hours(1));
  view.nodes[1].jobs = {JobOf(absl::InfiniteDuration())};
  view.limits.drain_timeout = absl::Hours(4);
  view.limits.passes_over = true;
  const Estimate estimate = EstimateRollout(view, kUpdate);
  EXPECT_EQ(estimate.left_out, 1u);
  EXPECT_EQ(estimate.total, absl::Hours(1) + kUpdate + 2 * (absl::Hours(4) + absl::Seconds(1)));
}

TEST(Estimate, RequeuedJobsEndAfterTheDrainTimeout) {
  RolloutView view = Busy(1, 1, absl::InfiniteDuration());
  view.limits.drain_timeout = absl::Hours(4);
  view.limits.requeues = true;
  EXPECT_EQ(EstimateRollout(view, kUpdate).total, absl::Hours(4) + absl::Seconds(1) + kUpdate);
}

TEST(Estimate, NodesThatAreNotConnectedAreLeftOut) {
  RolloutView view = Busy(2, 1, absl::ZeroDuration());
  view.nodes[1].is_connected = view.nodes[1].is_available = false;
  view.nodes[1].away_since = view.now;
  view.limits.max_unavailable = 2;
  EXPECT_EQ(EstimateRollout(view, kUpdate).left_out, 1u);
}

TEST(Estimate, OtherWorkOnANodeHasEndedByItsTurn) {
  RolloutView view = Busy(2, 1, absl::ZeroDuration());
  view.nodes[0].busy = "run r-1 of admin:ann";
  EXPECT_EQ(EstimateRollout(view, kUpdate).total, 2 * kUpdate);
}

TEST(Estimate, LoginNodesFollowTheWorkersOneByOne) {
  RolloutView view = Busy(4, 4, absl::Hours(1));
  for (const int other : {2, 3}) {
    view.nodes[static_cast<size_t>(other)].is_worker = false;
    view.nodes[static_cast<size_t>(other)].jobs.clear();
  }
  view.limits.wave_sizes = {2};
  EXPECT_EQ(EstimateRollout(view, kUpdate).total, absl::Hours(1) + 3 * kUpdate);
}

// Looks that are made together make it longer, but not much.
TEST(Estimate, AThousandNodesAreWithinATenthOfTheirRounds) {
  RolloutView view = Busy(1000, 50, absl::ZeroDuration());
  for (size_t i = 0; i < view.nodes.size(); ++i)
    view.nodes[i].jobs = {JobOf(absl::Minutes(static_cast<int>(i)))};
  const Estimate estimate = EstimateRollout(view, kUpdate);
  // Each of the 50 slots takes 20 nodes whose jobs have 500 minutes on average.
  const absl::Duration rounds = 20 * (absl::Minutes(500) + kUpdate);
  EXPECT_GT(estimate.total, rounds * 0.9);
  EXPECT_LT(estimate.total, rounds * 1.1);
}

}  // namespace
}  // namespace muster::controller::rollout
