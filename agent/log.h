// The agent's log: the journal under systemd, standard error otherwise.
#pragma once

#include "absl/strings/string_view.h"

namespace muster::agent {

// Call once, first.
void StartLog(bool verbose);

// Thread-safe.
void LogDebug(absl::string_view text);
void LogInfo(absl::string_view text);
void LogError(absl::string_view text);

}  // namespace muster::agent
