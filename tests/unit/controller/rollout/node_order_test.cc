#include "controller/rollout/plan/node_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/rollout/rollout_views.h"

namespace muster::controller::rollout {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Forecast(const RolloutView& view) {
  std::vector<std::string> words;
  for (const Place& place : ForecastOrder(view)) {
    words.push_back(absl::StrCat(place.node, "/", place.wave));
  }
  return words;
}

TEST(ForecastOrder, OutFirstThenIdleThenBySoonestEnd) {
  RolloutView view = ClusterOf(6);
  view.nodes[0].jobs = {JobOf(absl::InfiniteDuration())};
  view.nodes[1].jobs = {JobOf(absl::Hours(5)), JobOf(absl::Hours(1))};
  view.nodes[2].jobs = {JobOf(absl::Hours(4))};
  view.nodes[3].passed_over = true;
  view.nodes[5] = DrainedByRoot("c006");
  EXPECT_THAT(Forecast(view),
              ElementsAre("c006/0", "c005/0", "c003/0", "c002/0", "c001/0", "c004/0"));
}

TEST(ForecastOrder, TheCanaryIsAnAvailableNode) {
  RolloutView view = ClusterOf(4);
  view.limits.wave_sizes = {1, 2, 4};
  view.nodes[0].jobs = {JobOf(absl::Hours(1))};
  view.nodes[1] = DrainedByRoot("c002");
  EXPECT_THAT(Forecast(view), ElementsAre("c003/0", "c002/1", "c004/2", "c001/2"));
  for (NodeView& node : view.nodes) node.is_available = false;
  EXPECT_THAT(Forecast(view), ElementsAre("c002/0", "c003/1", "c004/2", "c001/2"));
}

TEST(ForecastOrder, WhatIsTakenCountsAndWhatCannotBeTakenComesLast) {
  RolloutView view = ClusterOf(7);
  view.limits.wave_sizes = {1, 3, 7};
  view.wave = 1;
  view.nodes[0] = Ended("c001", v1::ROLLOUT_STEP_DONE, absl::Hours(1));
  view.nodes[1] = Held("c002", v1::ROLLOUT_STEP_APPLYING);
  view.nodes[2].is_connected = view.nodes[2].is_available = false;
  view.nodes[3].busy = "run r-1 of admin:ann";
  view.nodes[4] = Ended("c005", v1::ROLLOUT_STEP_SKIPPED, absl::Hours(1));
  EXPECT_THAT(Forecast(view), ElementsAre("c006/1", "c007/2", "c003/2", "c004/2"));
}

}  // namespace
}  // namespace muster::controller::rollout
