#include "cli/render/run/ending_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/context.h"
#include "cli/render/plan/plan_report.h"
#include "cli/render/validation/validation_report.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::RunValidation Acceptance(v1::RunValidationState state) {
  v1::RunValidation validation;
  validation.set_play("pass muster");
  validation.set_suite("acceptance");
  validation.set_state(state);
  validation.set_nodes("c[001-003]");
  return validation;
}

TEST(RenderEnding, SaysWhatBecameOfTheSuite) {
  v1::RunValidation waiting = Acceptance(v1::RUN_VALIDATION_STATE_WAITING);
  EXPECT_EQ(RenderEnding(waiting),
            "validation: suite acceptance of c[001-003] is about to start\n");
  waiting.set_message("run r-2 works on c001");
  EXPECT_EQ(RenderEnding(waiting),
            "validation: suite acceptance of c[001-003] waits for its nodes\n"
            "    run r-2 works on c001\n");
  v1::RunValidation started = Acceptance(v1::RUN_VALIDATION_STATE_STARTED);
  started.set_validation_id("v-1");
  EXPECT_EQ(RenderEnding(started), "validation v-1: suite acceptance of c[001-003]\n");
  started.set_passed_nodes("c004");
  EXPECT_EQ(RenderEnding(started),
            "validation v-1: suite acceptance of c[001-003]; c004 passed before\n");
  v1::RunValidation not_needed = Acceptance(v1::RUN_VALIDATION_STATE_NOT_NEEDED);
  not_needed.set_passed_nodes("c[001-003]");
  not_needed.clear_nodes();
  EXPECT_EQ(RenderEnding(not_needed),
            "validation: nothing to validate: c[001-003] already passed with the same "
            "hardware and software\n");
  EXPECT_EQ(RenderEnding(Acceptance(v1::RUN_VALIDATION_STATE_PREDICTED)),
            "validation: suite acceptance tests c[001-003]\n");
  v1::RunValidation not_started = Acceptance(v1::RUN_VALIDATION_STATE_NOT_STARTED);
  not_started.set_message("c001: gpu_count \x1b[2J");
  EXPECT_THAT(RenderEnding(not_started),
              HasSubstr("suite acceptance of c[001-003] was not started\n    c001: gpu_count"));
  EXPECT_THAT(RenderEnding(not_started), Not(HasSubstr("\x1b")));
}

TEST(RenderEndings, SayHowToTakeAwayWhatWaits) {
  v1::Run run;
  run.set_run_id("r-1");
  *run.add_validations() = Acceptance(v1::RUN_VALIDATION_STATE_STARTED);
  EXPECT_THAT(RenderEndings(run), Not(HasSubstr("cancel")));
  *run.add_validations() = Acceptance(v1::RUN_VALIDATION_STATE_WAITING);
  EXPECT_THAT(RenderEndings(run), HasSubstr("muster validate cancel r-1\n"));
}

TEST(RenderPlan, EndsWithWhatWouldBeValidated) {
  v1::PlanFile plan;
  v1::PlannedValidation& validation = *plan.add_validations();
  validation.set_suite("acceptance");
  validation.set_nodes("c001");
  validation.set_passed_nodes("c002");
  EXPECT_THAT(RenderPlan(plan),
              HasSubstr("\nthen suite acceptance tests c001; c002 passed before\n"));
}

TEST(ExitCodeWithEndings, TheRunCountsFirst) {
  EXPECT_EQ(ExitCodeWithEndings(kExitFailed, {kExitNotPassed}, false), kExitFailed);
  EXPECT_EQ(ExitCodeWithEndings(kExitUnreachable, {kExitClean}, false), kExitUnreachable);
  EXPECT_EQ(ExitCodeWithEndings(kExitClean, {}, false), kExitClean);
  EXPECT_EQ(ExitCodeWithEndings(kExitChanges, {kExitClean}, true), kExitChanges);
}

TEST(ExitCodeWithEndings, ThenTheWorstValidation) {
  EXPECT_EQ(ExitCodeWithEndings(kExitClean, {kExitUnknown, kExitNotPassed}, false), kExitNotPassed);
  EXPECT_EQ(ExitCodeWithEndings(kExitClean, {kExitUnknown, kExitClean}, false), kExitUnknown);
  // If 2 means changes, it must not also mean unknown.
  EXPECT_EQ(ExitCodeWithEndings(kExitChanges, {kExitUnknown}, true), kExitNotPassed);
  EXPECT_EQ(ExitCodeWithEndings(kExitClean, {kExitUnknown}, true), kExitNotPassed);
}

}  // namespace
}  // namespace muster::cli
