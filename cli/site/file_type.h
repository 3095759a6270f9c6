// What is at a path that the user named: std::filesystem's own questions throw.
#pragma once

#include <filesystem>

#include "absl/status/statusor.h"

namespace muster::cli {

// Follows links; not_found where there is nothing. FailedPrecondition: a folder on the way may not
// be searched, or a link leads to itself.
absl::StatusOr<std::filesystem::file_type> TypeOf(const std::filesystem::path& path);

}  // namespace muster::cli
