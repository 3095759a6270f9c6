#include "agent/resources/mount_comparison.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text/mount_info.h"

namespace muster::agent {
namespace {

enum class SourceKind { kUnknown, kDevice, kNfs };

// Types whose name in mountinfo is known. Others, such as "none", "auto" and those of mount
// helpers, may become any type.
struct TypeRow {
  const char* type;
  const char* family;  // the types of one family stand in for each other
  SourceKind source = SourceKind::kUnknown;
};
constexpr TypeRow kTypes[] = {
    {"nfs", "nfs", SourceKind::kNfs},
    {"nfs4", "nfs", SourceKind::kNfs},
    {"cifs", "cifs"},
    {"smb3", "cifs"},
    {"beegfs", "beegfs"},
    {"lustre", "lustre"},
    {"lustre_tgt", "lustre"},
    {"ceph", "ceph"},
    {"gpfs", "gpfs"},
    {"ext2", "ext", SourceKind::kDevice},
    {"ext3", "ext", SourceKind::kDevice},
    {"ext4", "ext", SourceKind::kDevice},
    {"xfs", "xfs", SourceKind::kDevice},
    {"vfat", "vfat", SourceKind::kDevice},
    {"f2fs", "f2fs", SourceKind::kDevice},
    {"btrfs", "btrfs", SourceKind::kDevice},
    {"tmpfs", "tmpfs"},
};

// Where udev has the links to devices by their names in fstab(5).
struct TagRow {
  absl::string_view tag;
  absl::string_view folder;
};
constexpr TagRow kDeviceTags[] = {{"UUID=", "/dev/disk/by-uuid/"},
                                  {"LABEL=", "/dev/disk/by-label/"},
                                  {"PARTUUID=", "/dev/disk/by-partuuid/"},
                                  {"PARTLABEL=", "/dev/disk/by-partlabel/"}};

const TypeRow* FindType(absl::string_view type) {
  const auto* const row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                       [type](const TypeRow& each) { return type == each.type; });
  return row == std::end(kTypes) ? nullptr : row;
}

bool IsBind(absl::string_view options) {
  const std::vector<absl::string_view> words = absl::StrSplit(options, ',');
  return std::any_of(words.begin(), words.end(),
                     [](absl::string_view word) { return word == "bind" || word == "rbind"; });
}

// "nfs1:/a//b/" → {"nfs1", "a/b"}.
std::pair<std::string, std::string> NfsSource(absl::string_view source) {
  const size_t colon = source.find(":/");
  if (colon == absl::string_view::npos) return {std::string(source), ""};
  const std::vector<absl::string_view> parts =
      absl::StrSplit(source.substr(colon + 1), '/', absl::SkipEmpty());
  return {std::string(source.substr(0, colon)), absl::StrJoin(parts, "/")};
}

// The bytes of an IP address, "" for the name of a host.
std::string AddressBytes(absl::string_view host) {
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  const std::string text(host.substr(0, host.find('%')));
  char bytes[sizeof(in6_addr)];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return std::string(bytes, sizeof(in_addr));
  if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) return std::string(bytes, sizeof bytes);
  return "";
}

// "nfs1" and "nfs1.cluster" are one host, as far as one can tell, and so are a name and an address,
// and addresses of both kinds.
bool MayBeSameHost(const std::string& a, const std::string& b) {
  const std::string address = AddressBytes(a), other = AddressBytes(b);
  if (address.size() != other.size()) return true;
  if (!address.empty()) return address == other;
  return absl::EqualsIgnoreCase(a, b) || absl::StartsWithIgnoreCase(a, absl::StrCat(b, ".")) ||
         absl::StartsWithIgnoreCase(b, absl::StrCat(a, "."));
}

bool IsOtherNfs(const MountUnit& wanted, const MountInfo& mounted,
                const std::vector<MountInfo>& all) {
  const auto [host, folder] = NfsSource(wanted.source);
  const auto [host_now, folder_now] = NfsSource(mounted.source);
  if (folder != folder_now) return true;
  if (MayBeSameHost(host, host_now)) return false;
  // The kernel shows an export that is mounted twice by the source of the first mount.
  return std::none_of(all.begin(), all.end(), [&mounted](const MountInfo& each) {
    return each.number != mounted.number && each.device == mounted.device &&
           each.source == mounted.source;
  });
}

bool IsOtherDevice(const MountUnit& wanted, const MountInfo& mounted, BlockDevices& disks) {
  // btrfs has a number of its own instead of a device's.
  if (absl::StartsWith(mounted.device, "0:")) return false;
  std::string device = wanted.source;
  for (const TagRow& row : kDeviceTags) {
    if (absl::StartsWith(device, row.tag))
      device = absl::StrCat(row.folder, absl::string_view(device).substr(row.tag.size()));
  }
  if (!absl::StartsWith(device, "/dev/")) return false;
  const absl::StatusOr<std::string> number = disks.Number(device);
  return number.ok() && *number != mounted.device;
}

}  // namespace

std::optional<std::string> OtherMount(const MountUnit& wanted, absl::string_view path,
                                      absl::string_view mountinfo, BlockDevices& disks) {
  const TypeRow* const type = FindType(wanted.type);
  if (type == nullptr || IsBind(wanted.options)) return std::nullopt;
  const std::vector<MountInfo> all = MountsOf(mountinfo);
  // An automount stands for the mount that it makes.
  const auto mounted = std::find_if(all.rbegin(), all.rend(), [path](const MountInfo& each) {
    return each.path == path && each.type != "autofs";
  });
  if (mounted == all.rend()) return std::nullopt;
  const TypeRow* const type_now = FindType(mounted->type);
  const bool is_other =
      type_now == nullptr || absl::string_view(type_now->family) != type->family ||
      (type->source == SourceKind::kNfs && IsOtherNfs(wanted, *mounted, all)) ||
      (type->source == SourceKind::kDevice && IsOtherDevice(wanted, *mounted, disks));
  if (!is_other) return std::nullopt;
  return absl::StrCat(mounted->source, " (", mounted->type, ")");
}

}  // namespace muster::agent
