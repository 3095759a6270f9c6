#include "cli/site/file_type.h"

#include <system_error>

#include "absl/strings/str_cat.h"

namespace muster::cli {

namespace fs = std::filesystem;

absl::StatusOr<fs::file_type> TypeOf(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type != fs::file_type::none) return type;
  return absl::FailedPreconditionError(absl::StrCat(
      path.string(), ": ", error.message(), "; correct the path, or your permissions on it"));
}

}  // namespace muster::cli
