#include "cli/inventory_folder/edit_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/inventory_folder/inventory_base.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

}  // namespace

absl::StatusOr<std::unique_ptr<EditFolder>> EditFolder::Make(const InventoryInForce& in_force) {
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  if (error)
    return absl::FailedPreconditionError(
        absl::StrCat("no folder for temporary files: ", error.message(), "; set $TMPDIR to one"));
  std::string folder = (base / "muster-inventory-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)  // mode 0700
    return absl::ErrnoToStatus(errno, absl::StrCat("creating ", folder));
  std::vector<std::string> files;
  for (const auto& [path, text] : in_force.files) files.push_back(path);
  std::unique_ptr<EditFolder> made(
      new EditFolder(folder, (fs::path(folder) / in_force.folder_name).string(), std::move(files)));
  RETURN_IF_ERROR(WriteInventoryFiles(made->path(), in_force.files, {}).status());
  RETURN_IF_ERROR(WriteInventoryBase(made->path(), in_force.base));
  return made;
}

EditFolder::~EditFolder() {
  std::error_code ignored;
  if (!is_kept_) fs::remove_all(folder_, ignored);
}

absl::StatusOr<std::vector<std::string>> EditFolder::ToEdit(absl::string_view file) const {
  std::vector<std::string> paths;
  const std::string prefix = absl::StrCat(fs::path(inventory_).filename().string(), "/");
  absl::string_view wanted = file;
  if (std::find(files_.begin(), files_.end(), wanted) == files_.end())
    absl::ConsumePrefix(&wanted, prefix);
  for (const std::string& each : files_) {
    if (wanted.empty() || each == wanted) paths.push_back((fs::path(inventory_) / each).string());
  }
  if (!paths.empty()) return paths;
  return absl::InvalidArgumentError(absl::StrCat("the controller's inventory has no file '", file,
                                                 "'", DidYouMean(wanted, files_), "; it has ",
                                                 absl::StrJoin(files_, ", ")));
}

absl::Status EditFolder::Keep(const absl::Status& why) {
  is_kept_ = true;
  // Aborted: somebody else was quicker.
  const absl::string_view verb = absl::IsAborted(why) ? "push" : "apply";
  return absl::Status(
      why.code(), absl::StrCat(why.message(), "\nThe edited files are in ", inventory_,
                               ": continue with them and `muster inventory ", verb, " ", inventory_,
                               "`, or remove ", folder_));
}

}  // namespace muster::cli
