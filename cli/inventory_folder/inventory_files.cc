#include "cli/inventory_folder/inventory_files.h"

#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/site/folder_files.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using Files = google::protobuf::RepeatedPtrField<v1::InventoryFile>;

constexpr size_t kLargestInventory = 8 << 20;  // of all files together
constexpr char kHardware[] = "hardware";

bool IsYaml(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

// Whether the name ends in .yaml or .yml, in upper or lower case.
bool IsMeantAsYaml(const fs::path& path) {
  const std::string extension = absl::AsciiStrToLower(path.extension().string());
  return extension == ".yaml" || extension == ".yml";
}

// Whether Ansible would read it in a folder of variables.
bool IsMeantAsVariables(const fs::path& path) {
  return IsMeantAsYaml(path) || !path.has_extension() || path.extension() == ".json";
}

bool IsVarsFolder(const fs::path& name) { return name == "group_vars" || name == "node_vars"; }

// Whether a file at this place would be read as other than its author means, or not at all.
absl::Status CheckPlace(const fs::path& name) {
  if (!IsMeantAsVariables(name)) return absl::OkStatus();
  const fs::path folder = name.parent_path();
  const fs::path above = folder.parent_path();
  const auto wrong = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(name.string(), ": ", what));
  };
  if (folder.filename() == "host_vars" || above.filename() == "host_vars")
    return wrong("a folder host_vars is not read: rename it to node_vars");
  if (IsVarsFolder(above.filename())) {
    return wrong(absl::StrCat("a folder in ", above.filename().string(),
                              " is not read: put its variables into one file, ", folder.string(),
                              ".yaml"));
  }
  if (IsYaml(name) || !(IsVarsFolder(folder.filename()) || IsMeantAsYaml(name)))
    return absl::OkStatus();
  const std::string kind = name.has_extension()
                               ? absl::StrCat("a file *", name.extension().string())
                               : "a file without an extension";
  return wrong(absl::StrCat(kind, " is not read: rename it to ", name.stem().string(),
                            ".yaml, or to .", name.filename().string(), " to leave it out"));
}

}  // namespace

absl::StatusOr<Files> ReadInventoryFiles(const std::string& path) {
  sys::RealFileSystem file_system;
  Files files;
  size_t total = 0;
  const auto add = [&](const fs::path& file, const std::string& name) -> absl::Status {
    v1::InventoryFile& entry = *files.Add();
    entry.set_path(name);
    auto content = file_system.Read(fs::absolute(file).string(), kLargestInventory);
    if (!content.ok() && !absl::IsResourceExhausted(content.status())) return content.status();
    if (!content.ok() || (total += content->size()) > kLargestInventory)
      return absl::InvalidArgumentError(
          absl::StrCat(path, " holds more than 8 MiB (at ", name, "); is this an inventory?"));
    entry.set_content(*std::move(content));
    return absl::OkStatus();
  };
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    RETURN_IF_ERROR(add(path, fs::path(path).filename().string()));
    return files;
  }
  const fs::path folder = fs::canonical(path, error);
  if (error) return absl::NotFoundError(absl::StrCat("inventory ", path, ": ", error.message()));
  const auto is_left_out = [](const std::string& name, int depth) {
    return absl::StartsWith(name, ".") || (depth == 0 && name == kHardware);
  };
  const auto is_needed = [](const std::string& name) {
    return IsMeantAsYaml(name) || !fs::path(name).has_extension();
  };
  const auto read = [&](const fs::path& found) -> absl::Status {
    const fs::path file = folder.filename() / found.lexically_relative(folder);
    RETURN_IF_ERROR(CheckPlace(file));
    return IsYaml(file) ? add(found, file.string()) : absl::OkStatus();
  };
  RETURN_IF_ERROR(VisitFiles(folder, is_left_out, is_needed, read));
  if (files.empty()) return absl::NotFoundError(absl::StrCat("no *.yaml file in ", path));
  return files;
}

}  // namespace muster::cli
