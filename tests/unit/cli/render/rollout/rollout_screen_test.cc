#include "cli/render/rollout/rollout_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/cli/render/rollout/sample_rollout.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

const absl::Time kScreenNow = kRolloutStart + absl::Minutes(72);

RolloutView Watched(const v1::Rollout& rollout) {
  RolloutView view(rollout);
  for (const v1::RolloutEvent& event : rollout.events()) view.Apply(event);
  return view;
}

TEST(RolloutView, EventsAddUpToTheRollout) {
  const v1::Rollout rollout = SampleRollout();
  EXPECT_EQ(RolloutView(rollout).rollout().nodes(0).step(), v1::ROLLOUT_STEP_PENDING);
  const RolloutView view = Watched(rollout);
  EXPECT_EQ(view.sequence(), 9u);
  EXPECT_EQ(view.rollout().wave(), 1u);
  EXPECT_FALSE(view.finished());
  for (int place = 0; place < rollout.nodes_size(); ++place) {
    EXPECT_EQ(view.rollout().nodes(place).step(), rollout.nodes(place).step()) << place;
    EXPECT_EQ(view.rollout().nodes(place).message(), rollout.nodes(place).message()) << place;
  }
  // A second event of the same step does not begin it anew.
  EXPECT_EQ(ToTime(view.rollout().nodes(1).since()), kRolloutStart + absl::Minutes(12));
}

TEST(RolloutView, RepeatedEventsChangeNothingAndUnknownNodesAreIgnored) {
  const v1::Rollout rollout = SampleRollout();
  RolloutView view = Watched(rollout);
  view.Apply(rollout.events(1));  // c001 drains, again
  EXPECT_EQ(view.rollout().nodes(0).step(), v1::ROLLOUT_STEP_DONE);
  v1::Rollout more = rollout;
  AddStep(more, 50, "c999", v1::ROLLOUT_STEP_DONE);
  view.Apply(more.events(9));
  EXPECT_EQ(view.sequence(), 10u);
}

TEST(RolloutView, EndsWithTheRolloutAndNotWithAPause) {
  v1::Rollout rollout = SampleRollout();
  AddState(rollout, 40, v1::ROLLOUT_STATE_PAUSED, 1, "2 nodes have failed");
  EXPECT_FALSE(Watched(rollout).finished());
  for (const auto state :
       {v1::ROLLOUT_STATE_COMPLETED, v1::ROLLOUT_STATE_ABORTED, v1::ROLLOUT_STATE_ROLLED_BACK}) {
    v1::Rollout ended = rollout;
    AddState(ended, 50, state, 2);
    EXPECT_TRUE(Watched(ended).finished()) << state;
  }
}

TEST(RolloutScreen, ShowsProgressActiveNodesAndFailures) {
  const RolloutView view = Watched(SampleRollout());
  EXPECT_THAT(
      absl::StrJoin(RenderRolloutScreen(view.rollout(), {.columns = 100, .rows = 24}, kScreenNow),
                    "\n"),
      Said());
}

TEST(RolloutScreen, FitsAnyTerminal) {
  v1::Rollout rollout = SampleRollout();
  rollout.mutable_events(7)->set_message("waits for job 1 (eve, \x1b[2J\nx)");
  const RolloutView view = Watched(rollout);
  for (int rows = 1; rows < 8; ++rows) {
    for (int columns = 1; columns < 90; ++columns) {
      const auto lines = RenderRolloutScreen(view.rollout(), {columns, rows}, kScreenNow);
      ASSERT_THAT(lines, SizeIs(Le(static_cast<size_t>(std::max(rows, 4)))));
      for (const std::string& line : lines) {
        ASSERT_LE(DisplayWidth(line), static_cast<size_t>(columns)) << line;
        ASSERT_EQ(line.find_first_of("\x1b\n"), std::string::npos) << line;
      }
    }
  }
  EXPECT_THAT(RenderRolloutScreen(view.rollout(), {.columns = 80, .rows = 5}, kScreenNow).back(),
              HasSubstr("… and 2 more nodes"));
}

TEST(RolloutScreen, StepsThatItShowsItselfLeaveNoLine) {
  const v1::Rollout rollout = SampleRollout();
  EXPECT_TRUE(StaysOnTerminal(rollout.events(0)));   // of the whole
  EXPECT_FALSE(StaysOnTerminal(rollout.events(1)));  // draining
  EXPECT_TRUE(StaysOnTerminal(rollout.events(3)));   // done
  EXPECT_TRUE(StaysOnTerminal(rollout.events(8)));   // quarantined
}

}  // namespace
}  // namespace muster::cli
