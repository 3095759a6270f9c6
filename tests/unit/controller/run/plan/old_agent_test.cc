// What an agent of an earlier version does with the plans of a run that says when nodes reboot. The
// steps that it does not know are fields without a name to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/engine/plan_rules.h"
#include "controller/run/plan/plan_finish.h"
#include "controller/run/plan/reboot_mode.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kOldNode[] = "33333333-3333-4333-8333-333333333333";

v1::Plan WithReboot() {
  v1::Plan plan;
  plan.set_plan_id("r-1/0");
  plan.set_run_id("r-1");
  plan.set_node_uuid(kOldNode);
  plan.set_sequence(10);
  v1::RolePlan& role = *plan.add_roles();
  role.set_name("kernel");
  v1::Step& file = *role.add_steps();
  file.set_step_id("kernel/file");
  file.mutable_file()->set_path("/x");
  v1::Step& reboot = *role.add_steps();
  reboot.set_step_id("kernel/reboot");
  reboot.set_source("roles/kernel/tasks/main.yaml:3");
  reboot.mutable_reboot()->set_reason("kernel");
  return plan;
}

// The plan as an agent reads it from the stream that has no field of the step's number.
v1::Plan AsRead(v1::Plan plan) {
  plan.set_digest(PlanDigest(plan));
  for (v1::RolePlan& role : *plan.mutable_roles()) {
    for (v1::Step& step : *role.mutable_steps()) {
      std::string unknown;
      if (step.has_pending_reboot()) unknown = step.pending_reboot().SerializeAsString();
      if (step.has_last_reboot()) unknown = step.last_reboot().SerializeAsString();
      if (!step.has_pending_reboot() && !step.has_last_reboot()) continue;
      const int number = static_cast<int>(step.resource_case());
      step.clear_resource();
      step.GetReflection()->MutableUnknownFields(&step)->AddLengthDelimited(number, unknown);
    }
  }
  return plan;
}

absl::Status Receive(const v1::Plan& plan) {
  return agent::CheckPlan(plan, kOldNode, /*highest_sequence=*/9, absl::UnixEpoch());
}

TEST(OldAgentTest, TakesAPlanWhoseRebootsAreThePlaybooks) {
  EXPECT_OK(Receive(AsRead(WithReboot())));
}

TEST(OldAgentTest, RefusesAPlanWithoutRebootsByItsStep) {
  v1::Plan plan = WithReboot();
  PutRebootsOff(plan);
  EXPECT_THAT(Receive(AsRead(plan)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'kernel/reboot' (roles/kernel/tasks/main.yaml:3)"),
                             HasSubstr("is the agent older than the controller?"))));
}

TEST(OldAgentTest, RefusesAPlanWithALastRebootByItsStep) {
  v1::Plan plan = WithReboot();
  ASSERT_OK(AddLastReboot("boot", plan));
  EXPECT_THAT(Receive(AsRead(plan)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'last_reboot/reboot'"),
                             HasSubstr("is the agent older than the controller?"))));
}

// The same agent with the fields takes them: it is the fields that it refuses, not the plans.
TEST(OldAgentTest, ANewerAgentTakesThem) {
  v1::Plan never = WithReboot(), always = WithReboot();
  PutRebootsOff(never);
  ASSERT_OK(AddLastReboot("boot", always));
  for (v1::Plan* plan : {&never, &always}) {
    plan->set_digest(PlanDigest(*plan));
    EXPECT_OK(Receive(*plan));
  }
}

}  // namespace
}  // namespace muster::controller
