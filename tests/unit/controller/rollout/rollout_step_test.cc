#include "controller/rollout/plan/rollout_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr v1::RolloutState kRolloutStates[] = {
    v1::ROLLOUT_STATE_ROLLING,  v1::ROLLOUT_STATE_SOAKING,      v1::ROLLOUT_STATE_PAUSED,
    v1::ROLLOUT_STATE_ABORTING, v1::ROLLOUT_STATE_ROLLING_BACK, v1::ROLLOUT_STATE_COMPLETED,
    v1::ROLLOUT_STATE_ABORTED,  v1::ROLLOUT_STATE_ROLLED_BACK};
struct RolloutEventWord {
  RolloutEvent event;
  const char* word;
};
constexpr RolloutEventWord kRolloutEvents[] = {
    {RolloutEvent::kWaveDone, "wave done"},  {RolloutEvent::kSoaked, "soaked"},
    {RolloutEvent::kPaused, "paused"},       {RolloutEvent::kResumed, "resumed"},
    {RolloutEvent::kAborted, "aborted"},     {RolloutEvent::kRolledBack, "rolled back"},
    {RolloutEvent::kCompleted, "completed"}, {RolloutEvent::kSettled, "settled"}};

// What the table has to be, written down a second time.
constexpr const char* kRolloutGrid[] = {
    "rolling + wave done: soaking",
    "rolling + paused: paused",
    "rolling + aborted: aborting",
    "rolling + rolled back: rolling back",
    "rolling + completed: completed",
    "soaking + soaked: rolling",
    "soaking + paused: paused",
    "soaking + aborted: aborting",
    "soaking + rolled back: rolling back",
    "paused + resumed: rolling",
    "paused + aborted: aborting",
    "paused + rolled back: rolling back",
    "aborting + rolled back: rolling back",
    "aborting + settled: aborted",
    "rolling back + aborted: aborting",
    "rolling back + settled: rolled back",
};

TEST(RolloutStep, EveryCellOfTheGridIsARowOrAnError) {
  std::vector<std::string> grid;
  for (const v1::RolloutState state : kRolloutStates) {
    for (const auto& [event, word] : kRolloutEvents) {
      const auto next = NextState(state, event);
      if (!next.ok()) {
        EXPECT_TRUE(absl::IsFailedPrecondition(next.status()));
        continue;
      }
      grid.push_back(absl::StrCat(StateName(state), " + ", word, ": ", StateName(*next)));
    }
  }
  EXPECT_THAT(grid, ::testing::ElementsAreArray(kRolloutGrid));
  EXPECT_EQ(RolloutTransitions().size(), grid.size()) << "a row twice, or of an unknown state";
}

TEST(RolloutStep, NothingLeadsOutOfAnEnd) {
  for (const v1::RolloutState state : kRolloutStates) {
    bool has_way_out = false;
    for (const auto& row : kRolloutEvents) has_way_out |= NextState(state, row.event).ok();
    EXPECT_EQ(HasEnded(state), !has_way_out) << StateName(state);
  }
}

TEST(RolloutStep, SaysWhatCannotBe) {
  for (const auto& row : kRolloutEvents) {
    EXPECT_THAT(NextState(v1::ROLLOUT_STATE_COMPLETED, row.event),
                StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  }
}

}  // namespace
}  // namespace muster::controller::rollout
