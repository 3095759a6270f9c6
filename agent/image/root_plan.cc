#include "agent/image/root_plan.h"

#include "agent/resources/types.h"

namespace muster::agent {
namespace {

bool IsForNodeOnly(const v1::Step& step) {
  if (InRootOf(step) == InRoot::kNothing) return true;
  return step.has_unit() && !step.unit().has_enabled() && !step.unit().has_masked();
}

void LeaveOut(v1::Step& step) {
  if (!step.skip_reason().empty() || !IsForNodeOnly(step)) return;
  step.clear_resource();
  step.set_skip_reason(kOnlyOnNode);
}

}  // namespace

v1::Plan PlanForRoot(v1::Plan plan) {
  plan.clear_digest();
  for (v1::RolePlan& role : *plan.mutable_roles()) {
    for (v1::Step& step : *role.mutable_steps()) LeaveOut(step);
    for (v1::Step& handler : *role.mutable_handlers()) LeaveOut(handler);
  }
  return plan;
}

}  // namespace muster::agent
