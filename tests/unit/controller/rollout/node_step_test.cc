#include "controller/rollout/plan/node_step.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr v1::RolloutStep kSteps[] = {v1::ROLLOUT_STEP_PENDING,  v1::ROLLOUT_STEP_DRAINING,
                                      v1::ROLLOUT_STEP_APPLYING, v1::ROLLOUT_STEP_VALIDATING,
                                      v1::ROLLOUT_STEP_RESUMING, v1::ROLLOUT_STEP_DONE,
                                      v1::ROLLOUT_STEP_FAILED,   v1::ROLLOUT_STEP_QUARANTINED,
                                      v1::ROLLOUT_STEP_SKIPPED,  v1::ROLLOUT_STEP_REQUEUING};
constexpr NodeEvent kNodeEvents[] = {
    NodeEvent::kTaken,  NodeEvent::kPassedOver, NodeEvent::kGivenBack, NodeEvent::kLeftOut,
    NodeEvent::kIdle,   NodeEvent::kApplied,    NodeEvent::kUnchanged, NodeEvent::kApplyFailed,
    NodeEvent::kPassed, NodeEvent::kNotPassed,  NodeEvent::kUntested,  NodeEvent::kBack,
    NodeEvent::kOverdue};

// What the table has to be, written down a second time.
constexpr const char* kNodeGrid[] = {
    "pending taken: draining",        "pending left out: skipped",
    "draining passed over: pending",  "draining given back: pending",
    "draining left out: skipped",     "draining idle: applying",
    "draining overdue: requeuing",    "applying left out: skipped",
    "applying applied: validating",   "applying unchanged: resuming",
    "applying apply failed: failed",  "validating left out: skipped",
    "validating passed: resuming",    "validating not passed: quarantined",
    "validating untested: failed",    "resuming left out: skipped",
    "resuming untested: failed",      "resuming back: done",
    "requeuing passed over: pending", "requeuing given back: pending",
    "requeuing left out: skipped",    "requeuing idle: applying",
};

TEST(NodeStep, EveryCellOfTheGridIsARowOrAnError) {
  std::vector<std::string> grid;
  for (const v1::RolloutStep step : kSteps) {
    for (const NodeEvent event : kNodeEvents) {
      const auto next = NextStep(step, event);
      if (!next.ok()) {
        EXPECT_TRUE(absl::IsFailedPrecondition(next.status()));
        continue;
      }
      grid.push_back(
          absl::StrCat(StepName(step), " ", NodeEventName(event), ": ", StepName(*next)));
    }
  }
  EXPECT_THAT(grid, ::testing::ElementsAreArray(kNodeGrid));
  EXPECT_EQ(NodeTransitions().size(), grid.size()) << "a row twice, or of an unknown step";
}

TEST(NodeStep, KindsOfSteps) {
  for (const v1::RolloutStep step : kSteps) {
    SCOPED_TRACE(StepName(step));
    bool has_way_out = false;
    for (const NodeEvent event : kNodeEvents) has_way_out |= NextStep(step, event).ok();
    EXPECT_EQ(IsOver(step), !has_way_out);
    EXPECT_EQ(IsActive(step), !IsOver(step) && step != v1::ROLLOUT_STEP_PENDING);
    EXPECT_EQ(IsFailure(step),
              step == v1::ROLLOUT_STEP_FAILED || step == v1::ROLLOUT_STEP_QUARANTINED);
  }
  EXPECT_TRUE(IsEmptying(v1::ROLLOUT_STEP_DRAINING));
  EXPECT_TRUE(IsEmptying(v1::ROLLOUT_STEP_REQUEUING));
  EXPECT_FALSE(IsEmptying(v1::ROLLOUT_STEP_APPLYING));
  EXPECT_FALSE(IsOver(v1::ROLLOUT_STEP_UNSPECIFIED));
  EXPECT_FALSE(IsActive(v1::ROLLOUT_STEP_UNSPECIFIED));
}

TEST(NodeStep, SaysWhatCannotBe) {
  EXPECT_THAT(NextStep(v1::ROLLOUT_STEP_DONE, NodeEvent::kTaken),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller::rollout
