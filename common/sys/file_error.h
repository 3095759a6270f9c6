// Errors of file operations, in words.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::sys {

// "what path: reason", with the remedy for a full or a read-only file system; EMLINK is reported as
// the refusal that it is (common/sys/folder.h).
absl::Status FileError(int error, absl::string_view what, const std::string& path);

}  // namespace muster::sys
