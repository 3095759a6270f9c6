#include "agent/image/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/large_file.h"

namespace muster::agent {
namespace {

// What leaves the root, as patterns of fnmatch(3) for paths of files and links, where "*" also
// stands for slashes.
constexpr const char* kLeaves[] = {
    // every machine's own
    "/etc/hostname", "/etc/ssh/ssh_host_*", "/etc/munge/munge.key",
    "/etc/ssl/private/ssl-cert-snakeoil.key", "/etc/ssl/certs/ssl-cert-snakeoil.pem",
    "/var/lib/dbus/machine-id", "/var/lib/systemd/random-seed", "/root/.bash_history",
    // each machine's own: the key with which DKMS signs modules, and its certificate
    "/var/lib/dkms/mok.*", "/var/lib/shim-signed/mok/MOK.*",
    // this build's
    "/var/lib/apt/lists/*", "/var/cache/apt/*", "/var/cache/ldconfig/*", "/var/cache/debconf/*-old",
    "/var/lib/dpkg/*-old", "/var/log/*", "/var/tmp/*", "/tmp/*", "/etc/passwd-", "/etc/group-",
    "/etc/shadow-", "/etc/gshadow-", "/etc/subuid-", "/etc/subgid-", "/etc/.pwd.lock"};
// Private keys here are somebody's, and in packages' own folders examples.
constexpr const char* kKeyFolders[] = {"/etc/", "/root/", "/home/", "/var/lib/"};
constexpr off_t kLargestKey = 64 << 10;

constexpr char kMachineId[] = "/etc/machine-id";
constexpr char kShadow[] = "/etc/shadow";
constexpr char kResolver[] = "/etc/resolv.conf";

constexpr int kSecondsOfDay = 24 * 60 * 60;

bool Leaves(const std::string& path) {
  return std::any_of(std::begin(kLeaves), std::end(kLeaves),
                     [&](const char* pattern) { return ::fnmatch(pattern, path.c_str(), 0) == 0; });
}

// Calls `look` with each path below the root and where it is, folders after what is in them.
absl::Status Walk(const std::string& root,
                  const std::function<absl::Status(const std::string& path, const FTSENT&)>& look) {
  std::string folder = root;
  char* const roots[] = {folder.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> walk(
      ::fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR,
                 [](const FTSENT** a, const FTSENT** b) {
                   return std::string_view((*a)->fts_name).compare((*b)->fts_name);
                 }),
      ::fts_close);
  if (walk == nullptr) return ErrnoStatus(errno, absl::StrCat("reading ", root));
  while (const FTSENT* entry = ::fts_read(walk.get())) {
    if (entry->fts_info == FTS_D || entry->fts_level == 0) continue;
    if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
      return ErrnoStatus(entry->fts_errno, absl::StrCat("reading ", entry->fts_path));
    RETURN_IF_ERROR(look(entry->fts_path + root.size(), *entry));
  }
  return absl::OkStatus();
}

absl::Status RemoveWhatLeaves(const std::string& root) {
  return Walk(root, [](const std::string& path, const FTSENT& entry) -> absl::Status {
    if (entry.fts_info == FTS_DP || !Leaves(path)) return absl::OkStatus();
    if (::unlink(entry.fts_path) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, absl::StrCat("removing ", path));
  });
}

absl::Status Rewrite(const std::string& path,
                     const std::function<std::string(const std::string&)>& change) {
  sys::RealFileSystem files;
  const absl::StatusOr<std::string> content = files.Read(path);
  if (absl::IsNotFound(content.status())) return absl::OkStatus();
  RETURN_IF_ERROR(content.status());
  const std::string changed = change(*content);
  return changed == *content ? absl::OkStatus() : files.WriteAtomically(path, changed, {});
}

absl::Status TakeBackTime(const std::string& path, const FTSENT& entry, absl::Time newest) {
  const struct stat& stat = *entry.fts_statp;
  if (absl::TimeFromTimespec(stat.st_mtim) <= newest) return absl::OkStatus();
  const timespec times[] = {absl::ToTimespec(newest), absl::ToTimespec(newest)};
  if (::utimensat(AT_FDCWD, entry.fts_path, times, AT_SYMLINK_NOFOLLOW) == 0)
    return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("setting the time of ", path));
}

absl::StatusOr<bool> HasPrivateKey(const std::string& path, const FTSENT& entry) {
  const bool is_key_folder =
      std::any_of(std::begin(kKeyFolders), std::end(kKeyFolders),
                  [&](const char* folder) { return absl::StartsWith(path, folder); });
  if (!is_key_folder || entry.fts_info != FTS_F || entry.fts_statp->st_size > kLargestKey)
    return false;
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::string content, files.Read(entry.fts_path));
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    if (absl::StartsWith(line, "-----BEGIN ") && absl::StrContains(line, "PRIVATE KEY-----"))
      return true;
  }
  return false;
}

char TypeOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return 'd';
    case S_IFLNK:
      return 'l';
    case S_IFCHR:
      return 'c';
    case S_IFBLK:
      return 'b';
    case S_IFIFO:
      return 'p';
    case S_IFSOCK:
      return 's';
    default:
      return 'f';
  }
}

absl::StatusOr<ImageFile> Describe(const std::string& path, const FTSENT& entry) {
  const struct stat& stat = *entry.fts_statp;
  ImageFile file;
  file.type = TypeOf(stat.st_mode);
  file.mode = stat.st_mode & 07777;
  file.uid = stat.st_uid;
  file.gid = stat.st_gid;
  file.path = path;
  if (file.type == 'f') {
    file.size = static_cast<uint64_t>(stat.st_size);
    ASSIGN_OR_RETURN(file.sha256, sys::Sha256OfFile(entry.fts_path));
  } else if (file.type == 'l') {
    sys::RealFileSystem files;
    ASSIGN_OR_RETURN(file.target, files.ReadLink(entry.fts_path));
    file.size = file.target.size();
  }
  return file;
}

// Every boot has a /dev of its own, and what is in /boot lies beside the root.
bool IsOutside(const std::string& path) {
  return absl::StartsWith(path, "/boot/") || absl::StartsWith(path, "/dev/");
}

absl::StatusOr<std::vector<v1::ImagePackage>> PackagesOf(const std::string& root,
                                                         sys::ProcessRunner& processes) {
  ASSIGN_OR_RETURN(
      const sys::ProcessResult result,
      RunChecked(processes, {.argv = {"dpkg-query",
                                      absl::StrCat("--admindir=", root, "/var/lib/dpkg"), "--show",
                                      "--showformat=${db:Status-Status}\\t${Package}\\t${Version}"
                                      "\\t${Architecture}\\t${Installed-Size}\\n"},
                             .max_output = size_t{16} << 20}));
  return ParsePackages(result.out);
}

}  // namespace

std::string ShadowUntil(const std::string& shadow, absl::Time newest) {
  const int64_t last_day = absl::ToUnixSeconds(newest) / kSecondsOfDay;
  std::vector<std::string> lines = absl::StrSplit(shadow, '\n');
  for (std::string& line : lines) {
    std::vector<std::string> fields = absl::StrSplit(line, ':');
    int64_t day = 0;
    if (fields.size() < 3 || !absl::SimpleAtoi(fields[2], &day) || day <= last_day) continue;
    fields[2] = absl::StrCat(last_day);
    line = absl::StrJoin(fields, ":");
  }
  return absl::StrJoin(lines, "\n");
}

absl::StatusOr<std::vector<v1::ImagePackage>> ParsePackages(const std::string& text) {
  std::vector<v1::ImagePackage> packages;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields.size() != 5)
      return absl::DataLossError(absl::StrCat("dpkg-query said '", line, "'"));
    if (fields[0] != "installed") continue;
    v1::ImagePackage& package = packages.emplace_back();
    package.set_name(fields[1]);
    package.set_version(fields[2]);
    package.set_architecture(fields[3]);
    uint64_t kib = 0;
    if (absl::SimpleAtoi(fields[4], &kib)) package.set_installed_bytes(kib << 10);
  }
  std::sort(packages.begin(), packages.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name(), a.architecture()) < std::tie(b.name(), b.architecture());
  });
  return packages;
}

absl::StatusOr<SealedRoot> SealRoot(const Seal& seal, sys::ProcessRunner& processes) {
  const std::string root(absl::StripSuffix(seal.root, "/"));
  RETURN_IF_ERROR(RemoveWhatLeaves(root));
  // Empty: the machine that boots takes an id of its own, and the name servers of its network.
  // Where systemd-resolved knows those, the file is a link that leads nowhere here.
  for (const char* own : {kMachineId, kResolver})
    RETURN_IF_ERROR(Rewrite(root + own, [](const std::string&) { return ""; }));
  RETURN_IF_ERROR(Rewrite(root + kShadow,
                          [&](const std::string& text) { return ShadowUntil(text, seal.newest); }));
  SealedRoot sealed;
  std::vector<std::string> keys;
  RETURN_IF_ERROR(Walk(root, [&](const std::string& path, const FTSENT& entry) -> absl::Status {
    ASSIGN_OR_RETURN(const bool is_key, HasPrivateKey(path, entry));
    if (is_key) keys.push_back(path);
    RETURN_IF_ERROR(TakeBackTime(path, entry, seal.newest));
    if (IsOutside(path)) return absl::OkStatus();
    ASSIGN_OR_RETURN(ImageFile file, Describe(path, entry));
    sealed.files.push_back(std::move(file));
    return absl::OkStatus();
  }));
  if (!keys.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("the root has a private key, which everybody who boots the image could read: ",
                     absl::StrJoin(keys, ", "),
                     "; take it out of the definition's files, or let a role make it on the node"));
  ASSIGN_OR_RETURN(sealed.packages, PackagesOf(root, processes));
  return sealed;
}

}  // namespace muster::agent
