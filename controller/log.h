// The controller's log: the journal under systemd, standard error otherwise.
#pragma once

#include "absl/strings/string_view.h"

namespace muster::controller {

// Call once, first. Before it, and in tests, lines go nowhere.
void StartLog();

// Thread-safe. Never hand a secret or a token over.
void LogInfo(absl::string_view line);
void LogWarning(absl::string_view line);
void LogError(absl::string_view line);

}  // namespace muster::controller
