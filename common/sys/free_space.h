// The room that is left on a disk.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace muster::sys {

// Bytes that may still be written to the file system that holds `path`, without root's reserve.
absl::StatusOr<uint64_t> FreeBytes(const std::string& path);

}  // namespace muster::sys
