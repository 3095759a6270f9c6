// Runs one plan from its first open step to its end.
#pragma once

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "agent/engine/role_run.h"

namespace muster::agent {

struct PlanRunOptions {
  // Most of them wait, for a program or for packages; those that wait for packages at the same time
  // get them in one transaction.
  int max_parallel_roles = 16;
  // How often `on_tick` is called while roles run.
  absl::Duration tick = absl::Milliseconds(200);
};

// Walks the role graph: roles whose needs have succeeded run in parallel, each in a thread of its
// own; roles that need a failed one are skipped. Blocks until all are done and returns the outcome,
// or nullopt when the agent is stopping and the rest is left to its next life. An error: the
// journal failed; every role has stopped before its next act. `on_tick` runs in the caller's
// thread.
absl::StatusOr<std::optional<v1::PlanOutcome>> RunPlan(PlanContext& context,
                                                       const PlanRunOptions& options,
                                                       const std::function<void()>& on_tick);

}  // namespace muster::agent
