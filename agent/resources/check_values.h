// Checks of values in steps. The compiler on the controller makes no steps that fail them; the
// agent, which acts as root, checks again.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

// InvalidArgument naming `field` unless `path` is absolute, without "." and ".." parts, doubled or
// trailing slashes. "/" itself is refused.
absl::Status CheckPath(absl::string_view field, absl::string_view path);
// InvalidArgument unless useradd, dpkg and systemd take `name` for an argument and not for an
// option: not empty, no leading dash, no whitespace, slash or control character.
absl::Status CheckName(absl::string_view field, absl::string_view name);
// InvalidArgument unless `name` consists of letters, digits, '-' and '_', and begins with neither
// of the latter two.
absl::Status CheckSetName(absl::string_view name);
// InvalidArgument for a NUL or a line break, which would end the field of a line-based file.
absl::Status CheckOneLine(absl::string_view field, absl::string_view text);

}  // namespace muster::agent
