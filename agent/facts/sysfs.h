// Reads the kernel's small text files: /sys, /proc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

// The whole file, at most 4 MiB.
absl::StatusOr<std::string> ReadText(const std::string& path);

// One value: the file without surrounding white space, or nullopt when it cannot be read. Some
// files of sysfs refuse to be read while a device is down: that is "unknown", not an error.
std::optional<std::string> ReadValue(const std::string& path);

// ReadValue as a number; nullopt also when it is not one. "0x10de" is read as hexadecimal.
std::optional<int64_t> ReadNumber(const std::string& path);

// Names in a folder, sorted; empty when there is no such folder.
std::vector<std::string> ListNames(const std::string& path);

// The last part of a symbolic link's target, or "" if the path is not a link.
std::string LinkName(const std::string& path);

}  // namespace muster::agent
