// The person's editor.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::cli {

// The program and its options: $VISUAL, else $EDITOR, else vi, split at blanks. Quotes mean nothing
// and no shell reads it; an editor that needs either is started by a script. Pure.
std::vector<std::string> EditorCommand(absl::string_view visual, absl::string_view editor);

// Runs it with these files, in the foreground with this process's terminal and environment, and
// waits for its end; Ctrl-C is the editor's alone. FailedPrecondition: it could not be started, or
// did not exit with 0. Blocks.
absl::Status RunEditor(const std::vector<std::string>& command,
                       const std::vector<std::string>& files);

}  // namespace muster::cli
