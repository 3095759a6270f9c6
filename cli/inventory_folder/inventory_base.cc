#include "cli/inventory_folder/inventory_base.h"

#include <filesystem>
#include <iostream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "muster/v1/inventory.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

// ReadInventoryFiles() leaves it out, as every name that begins so.
constexpr char kName[] = ".revision";
constexpr char kHead[] =
    "# The revision of the controller's inventory that these files are. Written by muster; keep it "
    "with them.\n";
constexpr size_t kLargest = 4096;
constexpr size_t kDigestDigits = 64;

std::string FileIn(const std::string& folder) {
  return (fs::absolute(folder) / kName).lexically_normal().string();
}

}  // namespace

absl::StatusOr<std::optional<v1::InventoryBase>> ReadInventoryBase(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::nullopt;
  sys::RealFileSystem files;
  const std::string file = FileIn(path);
  const absl::StatusOr<std::string> text = files.Read(file, kLargest);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  RETURN_IF_ERROR(text.status());
  int line_number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++line_number;
    if (line.empty() || absl::StartsWith(line, "#")) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    uint64_t revision = 0;
    if (words.size() == 2 && absl::SimpleAtoi(words[0], &revision) && revision > 0 &&
        words[1].size() == kDigestDigits) {
      v1::InventoryBase base;
      base.set_revision(revision);
      base.set_sha256(std::string(words[1]));
      return base;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", line_number,
                     ": not a revision and its digest; remove the file after a look at `muster "
                     "inventory diff ",
                     path, "`"));
  }
  return std::nullopt;
}

absl::Status WriteInventoryBase(const std::string& path, const v1::InventoryBase& base) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return absl::OkStatus();
  sys::RealFileSystem files;
  return files.WriteAtomically(FileIn(path),
                               absl::StrCat(kHead, base.revision(), " ", base.sha256(), "\n"), {});
}

void NoteInventoryBase(const std::string& path, const v1::InventoryBase& base) {
  const absl::Status written = WriteInventoryBase(path, base);
  if (!written.ok())
    std::cerr << "muster: " << written.message()
              << "; the next apply of these files will not see what others apply meanwhile\n";
}

}  // namespace muster::cli
