#include "cli/image/build_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/image/root_commands.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kBasePrefix[] = "base-";
constexpr char kRolePrefix[] = "role-";

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// mmdebstrap reads the arguments of its hooks as a shell does.
bool IsPlainPath(const std::string& path) {
  return absl::StartsWith(path, "/") && std::all_of(path.begin(), path.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  absl::StrContains("/._+-", c);
         });
}

// The part of a digest that file names have.
std::string Short(const std::string& digest) { return digest.substr(0, 32); }

absl::Time ModifiedAt(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? absl::TimeFromTimespec(info.st_mtim)
                                          : absl::InfinitePast();
}

}  // namespace

absl::StatusOr<std::string> BuildFolderPath(const std::string& wanted) {
  std::string path = wanted;
  if (path.empty()) {
    const std::string cache = Variable("XDG_CACHE_HOME"), home = Variable("HOME");
    if (cache.empty() && home.empty())
      return absl::InvalidArgumentError(
          "neither $XDG_CACHE_HOME nor $HOME is set; name a folder for the build with --work DIR");
    path = absl::StrCat(cache.empty() ? home + "/.cache" : cache, "/muster/images");
  }
  std::error_code error;
  path = fs::weakly_canonical(path, error).string();
  if (error || !IsPlainPath(path))
    return absl::InvalidArgumentError(
        absl::StrCat("images cannot be built in '", path,
                     "': its path may have letters, digits and the characters /._+- only; name "
                     "another folder with --work DIR"));
  return path;
}

absl::StatusOr<std::unique_ptr<BuildFolder>> BuildFolder::Open(const std::string& path,
                                                               sys::ProcessRunner& processes,
                                                               absl::Time now) {
  sys::RealFileSystem files;
  RETURN_IF_ERROR(files.MakeDirectory(path, 0700));
  const std::string lock_path = path + "/lock";
  sys::UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return ErrnoStatus(errno, absl::StrCat("opening ", lock_path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, absl::StrCat("locking ", lock_path));
    return absl::FailedPreconditionError(
        absl::StrCat("an image is being built in ", path,
                     "; wait for it, or name another folder with --work DIR"));
  }
  auto folder = std::unique_ptr<BuildFolder>(new BuildFolder(path, std::move(lock), processes));
  RETURN_IF_ERROR(folder->RemoveBuild());
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(path));
  for (const std::string& name : names) {
    const std::string layer = absl::StrCat(path, "/", name);
    if ((absl::StartsWith(name, kBasePrefix) || absl::StartsWith(name, kRolePrefix)) &&
        ModifiedAt(layer) < now - kLayerLife)
      RETURN_IF_ERROR(files.Remove(layer, /*recursive=*/false));
  }
  for (const std::string& each : {folder->build_, folder->Root(), folder->Exchange(),
                                  folder->Exchange() + "/blobs", folder->Result()})
    RETURN_IF_ERROR(files.MakeDirectory(each, 0755));
  std::string scratch = "/var/tmp/muster-image-XXXXXX";
  if (::mkdtemp(scratch.data()) == nullptr || ::chmod(scratch.c_str(), 0755) != 0)
    return ErrnoStatus(errno, absl::StrCat("making ", scratch));
  folder->scratch_ = scratch;
  return folder;
}

BuildFolder::~BuildFolder() { (void)RemoveBuild(); }

absl::Status BuildFolder::RemoveBuild() {
  std::vector<std::string> folders;
  std::error_code error;
  if (fs::exists(build_, error)) folders.push_back(build_);
  if (!scratch_.empty()) folders.push_back(scratch_);
  if (folders.empty()) return absl::OkStatus();
  // Files of the root belong to subordinate ids.
  return RunChecked(processes_, {.argv = RemoveFolders(folders)}).status();
}

std::string BuildFolder::BasePath(const std::string& digest) const {
  return absl::StrCat(path_, "/", kBasePrefix, Short(digest), ".tar");
}

std::string BuildFolder::RolePath(const std::string& base_digest, const std::string& digest) const {
  return absl::StrCat(path_, "/", kRolePrefix, Short(base_digest), "-", Short(digest), ".tar");
}

bool BuildFolder::Use(const std::string& path) {
  return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0;
}

absl::Status BuildFolder::KeepBase(const std::string& digest) {
  const std::string above = absl::StrCat(kRolePrefix, Short(digest), "-");
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(path_));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, above))
      RETURN_IF_ERROR(files.Remove(absl::StrCat(path_, "/", name), /*recursive=*/false));
  }
  return Keep(BasePath(digest));
}

absl::Status BuildFolder::KeepRole(const std::string& base_digest, const std::string& digest) {
  return Keep(RolePath(base_digest, digest));
}

absl::Status BuildFolder::Keep(const std::string& path) {
  if (::rename(NewLayer().c_str(), path.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("keeping the layer ", path));
}

}  // namespace muster::cli
