#include "cli/site/folder_files.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/site/file_type.h"
#include "common/base/status.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

// InvalidArgument: the link at `path` leads to a folder that the walk is in, or that holds one of
// these: the walk would never end.
absl::Status CheckLink(const fs::path& path, int depth) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  fs::path above = path;
  for (int i = 0; i <= depth && !error; ++i) {
    above = above.parent_path();
    const fs::path real = fs::canonical(above, error);
    if (std::mismatch(target.begin(), target.end(), real.begin(), real.end()).first != target.end())
      continue;
    return absl::InvalidArgumentError(absl::StrCat(path.string(), ": a link to ", target.string(),
                                                   ", which it is in: remove it, or rename it to .",
                                                   path.filename().string(), " to leave it out"));
  }
  if (error)
    return absl::UnavailableError(absl::StrCat("reading ", path.string(), ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace

absl::Status VisitFiles(const fs::path& folder,
                        absl::FunctionRef<bool(const std::string& name, int depth)> is_left_out,
                        absl::FunctionRef<bool(const std::string& name)> is_needed,
                        absl::FunctionRef<absl::Status(const fs::path& file)> visit) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (is_left_out(name, it.depth())) {
      it.disable_recursion_pending();
      continue;
    }
    const absl::StatusOr<fs::file_type> type = TypeOf(it->path());
    if (!type.ok() && is_needed(name)) return type.status();
    if (!type.ok() || *type != fs::file_type::directory) {
      it.disable_recursion_pending();
    } else if (it->is_symlink(error)) {
      RETURN_IF_ERROR(CheckLink(it->path(), it.depth()));
    }
    if (type.ok() && *type == fs::file_type::regular) RETURN_IF_ERROR(visit(it->path()));
  }
  if (error)
    return absl::UnavailableError(absl::StrCat("reading ", folder.string(), ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace muster::cli
