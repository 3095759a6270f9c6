#include "cli/site/site_folder.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/site/file_type.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::cli {
namespace {

constexpr size_t kLargestFiles = 8 << 20;  // of all files together

}  // namespace

absl::Status AddSiteFolder(const std::string& site, const std::string& folder,
                           google::protobuf::RepeatedPtrField<v1::InventoryFile>* files) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(site) / folder;
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(path, error);
  for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->path().extension() != ".yaml" || absl::StartsWith(name, ".")) continue;
    ASSIGN_OR_RETURN(const fs::file_type type, TypeOf(it->path()));
    if (type == fs::file_type::regular) names.push_back(name);
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat(path.string(), ": ", error.message(),
                                            "; pass the folder that contains it with --site"));
  }
  const fs::path absolute = fs::absolute(path, error);
  if (error) return ErrnoStatus(error.value(), "finding the current folder");
  std::sort(names.begin(), names.end());
  sys::RealFileSystem file_system;
  size_t total = 0;
  for (const v1::InventoryFile& file : *files) total += file.content().size();
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(std::string text, file_system.Read((absolute / name).string(), kLargestFiles));
    total += text.size();
    if (total > kLargestFiles) {
      return absl::InvalidArgumentError(absl::StrCat(path.string(), " holds more than 8 MiB"));
    }
    v1::InventoryFile& file = *files->Add();
    file.set_path(absl::StrCat(folder, "/", name));
    file.set_content(std::move(text));
  }
  return absl::OkStatus();
}

}  // namespace muster::cli
