// Moves nodes to another stack: the choice in the inventory, then a rollout of the site's playbook.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/context.h"

namespace muster::cli {

struct UpdateOptions;

// Whether the word can be the name of a stack, and not the path of a playbook.
bool LooksLikeStack(absl::string_view word);

// InvalidArgument: an option is given that goes with a stack only.
absl::Status RefuseSiteOptions(const UpdateOptions& options);

// The update to the stack options.run.playbook. Shows what the stack changes and the edit of the
// inventory, refuses what does not fit a node before anything is changed, asks, edits the files and
// applies them, and starts the rollout. Where the inventory chooses the stack already, the rollout
// is all of it, so the same command continues after an interruption. Exit codes: those of
// WatchRollout(), and with --plan those of `muster plan`.
absl::StatusOr<int> UpdateToStack(Context& context, const UpdateOptions& options);

}  // namespace muster::cli
