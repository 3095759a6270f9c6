#include "cli/inventory_folder/inventory_files.h"

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/site/file_type.h"
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
  fs::recursive_directory_iterator it(folder, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (absl::StartsWith(name, ".") || (it.depth() == 0 && name == kHardware)) {
      it.disable_recursion_pending();
    } else if (IsYaml(it->path())) {
      ASSIGN_OR_RETURN(const fs::file_type type, TypeOf(it->path()));
      if (type != fs::file_type::regular) continue;
      RETURN_IF_ERROR(
          add(it->path(), (folder.filename() / it->path().lexically_relative(folder)).string()));
    }
  }
  if (error) return absl::NotFoundError(absl::StrCat("inventory ", path, ": ", error.message()));
  if (files.empty()) return absl::NotFoundError(absl::StrCat("no *.yaml file in ", path));
  return files;
}

}  // namespace muster::cli
