#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/rollout/plan/rollout_plan.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/rollout/rollout_views.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;

TEST(ExplainNode, Draining) {
  RolloutView view = ClusterOf(1);
  NodeView& node = view.nodes[0];
  node = Held("c001", v1::ROLLOUT_STEP_DRAINING);
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.jobs = {JobOf(absl::Minutes(190))};
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.jobs = {JobOf(absl::Seconds(3 * 3600 + 1))};  // "at most" is rounded up
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.jobs.push_back(JobOf(absl::Hours(30), "4712"));
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.jobs.push_back(JobOf(absl::InfiniteDuration(), "4713"));
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.jobs = {JobOf(absl::InfiniteDuration())};
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  view.limits.passes_over = true;
  view.limits.drain_timeout = absl::Hours(3);
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.passed_over = true;
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  view.limits.passes_over = false;
  view.limits.requeues = true;
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.step = v1::ROLLOUT_STEP_REQUEUING;
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.message = "cannot requeue job 4711 (ann, train): it is not a batch job";
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.step = v1::ROLLOUT_STEP_DRAINING;
  node.message.clear();
  view.limits.requeues = false;
  node.jobs.clear();
  node.is_drained = false;
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  node.is_connected = false;
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  view.slurm_trouble = "slurmctld does not answer";
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
}

TEST(ExplainNode, PendingForASlot) {
  RolloutView view = ClusterOf(4);
  EXPECT_THAT(ExplainNode(view, "c001"), Said());  // next
  EXPECT_THAT(ExplainNode(view, "c003"), Said());  // its turn
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_APPLYING);
  EXPECT_THAT(ExplainNode(view, "c003"), Said());
  view.limits.max_unavailable = 2;
  view.nodes[3] = DrainedByRoot("c004");
  EXPECT_THAT(ExplainNode(view, "c003"), Said());
  view.limits.max_unavailable = 4;
  view.limits.max_per_rack = 1;
  for (NodeView& node : view.nodes) node.rack = "r1";
  EXPECT_THAT(ExplainNode(view, "c003"), Said());
  view.limits.max_per_rack = 0;
  view.limits.max_per_switch = 2;
  for (NodeView& node : view.nodes) node.switch_name = "leaf1";
  EXPECT_THAT(ExplainNode(view, "c003"), Said());
  view.nodes[2].passed_over = true;
  view.nodes[2].message = "its jobs have not ended within 1h 00m";
  EXPECT_THAT(ExplainNode(view, "c003"), Said());
}

TEST(ExplainNode, PendingForSomethingElse) {
  RolloutView view = ClusterOf(4);
  view.limits.windows = {*ParseWindow("Sat 22:00-06:00")};
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  view.now = Noon() - absl::Hours(24 + 5);  // Sunday 07:00: the next is six days away
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  view.now = Noon();
  view.slurm_trouble = "slurmctld does not answer";
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  view.slurm_trouble.clear();
  view.nodes[0].is_connected = false;
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  view.nodes[0].busy = "run r-7k3m9q2x of admin:ann";
  EXPECT_THAT(ExplainNode(view, "c001"), Said());
  EXPECT_THAT(ExplainNode(view, "c009"), Said());
}

TEST(ExplainNode, PendingForAWave) {
  RolloutView view = ClusterOf(6);
  view.limits.wave_sizes = {1, 3, 6};
  view.limits.soak = absl::Hours(3);
  EXPECT_THAT(ExplainNode(view, "c006"), Said());
  view.wave = 1;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, absl::Hours(1));
  EXPECT_THAT(ExplainNode(view, "c006"), Said());
  view.wave = 0;
  view.state = v1::ROLLOUT_STATE_SOAKING;
  EXPECT_THAT(ExplainNode(view, "c002"), Said());
  view.state = v1::ROLLOUT_STATE_PAUSED;
  EXPECT_THAT(ExplainNode(view, "c002"), Said());
  view.message = "2 nodes failed (c[003-004]), and the failure budget is 1";
  EXPECT_THAT(ExplainNode(view, "c002"), Said());
  for (const auto state : {v1::ROLLOUT_STATE_ABORTING, v1::ROLLOUT_STATE_ROLLING_BACK}) {
    view.state = state;
    EXPECT_THAT(ExplainNode(view, "c002"), Said());
  }
}

TEST(ExplainNode, BeingUpdatedAndOver) {
  const struct {
    v1::RolloutStep step;
    const char* message;
  } cases[] = {
      {v1::ROLLOUT_STEP_APPLYING, "run r-7k3m9q2x"},
      {v1::ROLLOUT_STEP_APPLYING, ""},
      {v1::ROLLOUT_STEP_VALIDATING, "validation v-7k3m9q2x"},
      {v1::ROLLOUT_STEP_RESUMING, ""},
      {v1::ROLLOUT_STEP_DONE, ""},
      {v1::ROLLOUT_STEP_FAILED, "run r-7k3m9q2x failed"},
      {v1::ROLLOUT_STEP_QUARANTINED, "failed v-7k3m9q2x"},
      {v1::ROLLOUT_STEP_SKIPPED, "the rollout was aborted"},
  };
  for (const auto& [step, message] : cases) {
    RolloutView view = ViewOf({Ended("c001", step, absl::Hours(1))});
    view.nodes[0].message = message;
    EXPECT_THAT(ExplainNode(view, "c001"), Said());
  }
}

}  // namespace
}  // namespace muster::controller::rollout
