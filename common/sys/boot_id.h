#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster::sys {

class FileSystem;

// What the kernel calls this boot, without a newline: another after each boot.
absl::StatusOr<std::string> ReadBootId(FileSystem& files);

}  // namespace muster::sys
