#include "controller/backup/backup_paths.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::controller {
namespace {

// What musterd and the rest of the machine need meanwhile.
constexpr uint64_t kLeftFree = uint64_t{256} << 20;

}  // namespace

std::vector<BackupPart> BackupParts(const Config& config, const std::string& config_path) {
  const std::string& pki = config.pki_directory;
  // The place that `muster init` uses.
  const std::string admin = (std::filesystem::path(config_path).parent_path() / "admin").string();
  return {
      {"pki/ca.crt", pki + "/ca.crt", false, true},
      {"pki/controller.crt", pki + "/controller.crt", false, true},
      {"pki/ca.key", pki + "/ca.key", true, true},
      {"pki/controller.key", pki + "/controller.key", true, true},
      {"secret_key", config.state_directory + "/secret_key", true, false},
      {"admin/cli.json", admin + "/cli.json", false, false, false},
      {"admin/ca.crt", admin + "/ca.crt", false, false, false},
      {"admin/client.crt", admin + "/client.crt", false, false, false},
      {"admin/client.key", admin + "/client.key", true, false, false},
  };
}

std::string OwnFolderOnTheWayTo(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path own = "/";
  for (const fs::path& part : fs::weakly_canonical(fs::absolute(path), ignored).relative_path()) {
    const fs::path next = own / part;
    struct stat info;
    if (lstat(next.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) break;
    const bool is_ours = info.st_uid == 0 || info.st_uid == geteuid();
    const bool others_write = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (!is_ours || (others_write && (info.st_mode & S_ISVTX) == 0)) break;
    own = next;
  }
  return own.string();
}

absl::StatusOr<StagingFolder> StagingFolder::Make(const std::string& near) {
  const std::string parent = OwnFolderOnTheWayTo(near);
  FolderShare share(parent, Leftover::kStaging);
  std::string pattern = absl::StrCat(parent, parent == "/" ? "" : "/", kStagingPrefix, "XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr)
    return ErrnoStatus(errno, absl::StrCat("making a folder in ", parent));
  return StagingFolder(std::move(share), std::move(pattern));
}

absl::Status CheckRoom(const std::string& folder, uint64_t free_bytes, uint64_t store_bytes) {
  const uint64_t needed = 2 * store_bytes + kLeftFree;
  if (free_bytes >= needed) return absl::OkStatus();
  const auto mib = [](uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  return absl::ResourceExhaustedError(absl::StrCat(
      "a backup copies the store of ", mib(store_bytes), " MiB twice and needs ", mib(needed),
      " MiB in ", folder, ", which has ", free_bytes >> 20, " MiB left: free space there"));
}

}  // namespace muster::controller
