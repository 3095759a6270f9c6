#include "cli/image/files_digest.h"

#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/large_file.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> Describe(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (error) return absl::UnavailableError(absl::StrCat(path.string(), ": ", error.message()));
  const auto mode = static_cast<unsigned>(status.permissions());
  switch (status.type()) {
    case fs::file_type::directory:
      return absl::StrCat("d ", mode);
    case fs::file_type::symlink:
      return absl::StrCat("l ", fs::read_symlink(path, error).string());
    case fs::file_type::regular: {
      ASSIGN_OR_RETURN(const std::string digest, sys::Sha256OfFile(path.string()));
      return absl::StrCat("f ", mode, " ", digest);
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(path.string(), " is neither a file, a folder nor a link"));
  }
}

}  // namespace

absl::StatusOr<std::string> FilesDigest(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return absl::NotFoundError(absl::StrCat("there is no folder ", folder));
  std::map<std::string, std::string> lines;
  fs::recursive_directory_iterator it(folder, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    ASSIGN_OR_RETURN(lines[it->path().lexically_relative(folder).string()], Describe(it->path()));
  }
  if (error) return absl::UnavailableError(absl::StrCat("reading ", folder, ": ", error.message()));
  Sha256 digest;
  for (const auto& [path, what] : lines)
    digest.Update(absl::StrCat(path.size(), " ", path, " ", what.size(), " ", what, "\n"));
  return digest.FinishHex();
}

}  // namespace muster::cli
