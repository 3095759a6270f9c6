#include "agent/health/probes/mounted.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "agent/facts/sysfs.h"
#include "common/base/status.h"
#include "common/base/text/mount_info.h"

namespace muster::agent::health {
namespace {

constexpr absl::string_view kLocalTypes[] = {"ext2",  "ext3", "ext4", "xfs",
                                             "btrfs", "zfs",  "f2fs", "vfat"};
// What a file system that takes no more writes has among its options: ext4 of newer kernels keeps
// its "rw" then, and has one of the others.
constexpr absl::string_view kReadOnly[] = {"ro", "emergency_ro", "shutdown"};
// Where systemd and the kernel have memory file systems of their own.
constexpr absl::string_view kOwnFolders[] = {"/run/", "/dev/", "/sys/", "/proc/"};

template <size_t n>
bool IsOneOf(absl::string_view word, const absl::string_view (&words)[n]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool Has(absl::string_view options, absl::string_view option) {
  const std::vector<absl::string_view> all = absl::StrSplit(options, ',');
  return std::find(all.begin(), all.end(), option) != all.end();
}

}  // namespace

std::vector<Mounted> ParseMountInfo(absl::string_view mountinfo) {
  std::vector<Mounted> all;
  for (MountInfo& mount : MountsOf(mountinfo)) {
    const auto has = [&](absl::string_view word) { return Has(mount.file_system_options, word); };
    const bool is_disk_read_only = std::any_of(std::begin(kReadOnly), std::end(kReadOnly), has);
    all.push_back({.path = std::move(mount.path),
                   .type = std::move(mount.type),
                   .source = std::move(mount.source),
                   .device = std::move(mount.device),
                   .is_read_only = Has(mount.options, "ro"),
                   .is_disk_read_only = is_disk_read_only});
  }
  return all;
}

absl::StatusOr<std::vector<Mounted>> ReadMounted(const std::string& root) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(root + "/proc/self/mountinfo"));
  return ParseMountInfo(text);
}

bool IsLocal(const Mounted& mounted) {
  if (mounted.is_read_only) return false;
  if (IsOneOf(mounted.type, kLocalTypes)) return true;
  // The root of a container.
  if (mounted.type == "overlay") return mounted.path == "/";
  if (mounted.type != "tmpfs") return false;
  if (mounted.path == "/dev/shm") return true;
  return std::none_of(std::begin(kOwnFolders), std::end(kOwnFolders),
                      [path = absl::StrCat(mounted.path, "/")](absl::string_view folder) {
                        return absl::StartsWith(path, folder);
                      });
}

bool IsRemote(const Mounted& mounted) { return IsRemoteFileSystem(mounted.type); }

void JudgeRoom(const std::string& path, const Room& room, const muster::health::Limits& limits,
               Findings& findings) {
  // As df: what root keeps for itself is neither used nor free.
  const double used = room.blocks - room.free_blocks;
  const double all = used + room.blocks_for_users;
  if (all > 0 && 100 * used / all >= limits.Of("disk_full.percent"))
    findings.Bad("disk_full", path, absl::StrFormat("%s is %.0f %% full", path, 100 * used / all));
  const double inodes_used = room.inodes - room.free_inodes;
  if (room.inodes > 0 && 100 * inodes_used / room.inodes >= limits.Of("inodes_full.percent"))
    findings.Bad("inodes_full", path,
                 absl::StrFormat("%.0f %% of the inodes of %s are in use",
                                 100 * inodes_used / room.inodes, path));
}

}  // namespace muster::agent::health
