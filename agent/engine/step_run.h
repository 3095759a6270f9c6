// Runs one step, or adjacent steps that apply in one go.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/engine/role_run.h"

namespace muster::agent {

// Checks; unless the plan only checks, also applies and checks again; records intents and outcomes.
// The first of `steps` is run and its outcome returned; those behind it may join it, and then have
// an outcome too. nullopt: the agent is stopping, and a step is left to its next life. An error:
// the journal failed.
absl::StatusOr<std::optional<v1::StepStatus>> RunSteps(PlanContext& context,
                                                       const v1::RolePlan& role,
                                                       const std::vector<const v1::Step*>& steps,
                                                       bool handler);

// A result with the fields that every result has.
v1::StepResult NewResult(const v1::RolePlan& role, const v1::Step& step, bool handler,
                         v1::StepStatus status);

}  // namespace muster::agent
