// The controller's log: the journal under systemd, standard error otherwise.
#pragma once

#include "absl/strings/string_view.h"

namespace muster::controller {

// Call once, first. Before it, and in tests, lines are dropped.
void StartLog();

// Thread-safe. Never pass a secret or a token.
void LogInfo(absl::string_view line);
void LogWarning(absl::string_view line);
void LogError(absl::string_view line);

}  // namespace muster::controller
