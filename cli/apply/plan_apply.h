// Applying a plan file.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "cli/watch/run_watcher.h"

namespace muster::cli {

struct PlanApplyOptions {
  std::string path;
  std::string limit;   // only these of the plan's nodes; empty: all
  bool check = false;  // only say whether the plan still holds
  bool diff = false, yes = false, detach = false;
  bool skip_validation = false;  // leave out the suites that the playbook ends with
  WatchOptions watch;
};

// Checks the plan's nodes again and, when they need exactly what the plan says, applies it.
// FailedPrecondition names what changed; nothing was applied then. `text` is the file's content.
absl::StatusOr<int> ApplyPlanFile(Context& context, const PlanApplyOptions& options,
                                  const std::string& text);

}  // namespace muster::cli
