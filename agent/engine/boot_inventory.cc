#include "agent/engine/boot_inventory.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/journal.pb.h"

namespace muster::agent {
namespace {

// Containers, users' own file systems and those in memory come and go with what uses them.
constexpr absl::string_view kLastingTypes[] = {"ext2", "ext3", "ext4", "xfs",  "btrfs",  "zfs",
                                               "f2fs", "vfat", "nfs",  "nfs4", "beegfs", "lustre",
                                               "ceph", "cifs", "gpfs", "gfs2"};
constexpr absl::string_view kPassingFolders[] = {"/run/", "/tmp/", "/var/tmp/", "/media/"};

bool IsLasting(const v1::MountFacts& mount) {
  const auto is_below = [&](absl::string_view folder) {
    return absl::StartsWith(mount.target(), folder);
  };
  return std::find(std::begin(kLastingTypes), std::end(kLastingTypes), mount.type()) !=
             std::end(kLastingTypes) &&
         std::none_of(std::begin(kPassingFolders), std::end(kPassingFolders), is_below);
}

// Whether autofs or an automount unit mounts it, when somebody uses it and not at boot.
bool IsAutomounted(absl::string_view target, const v1::Facts& facts) {
  return std::any_of(facts.mounts().begin(), facts.mounts().end(),
                     [&](const v1::MountFacts& place) {
                       return place.type() == "autofs" &&
                              (target == place.target() ||
                               absl::StartsWith(target, absl::StrCat(place.target(), "/")));
                     });
}

}  // namespace

void NoteInventory(const v1::Facts& facts, v1::RebootArmed& armed) {
  for (const v1::GpuFacts& gpu : facts.gpus()) {
    v1::GpuBefore& before = *armed.add_gpus();
    before.set_uuid(gpu.uuid());
    before.set_name(gpu.name());
  }
  for (const v1::MountFacts& mount : facts.mounts()) {
    if (!IsLasting(mount) || IsAutomounted(mount.target(), facts)) continue;
    v1::MountBefore& before = *armed.add_mounts();
    before.set_target(mount.target());
    before.set_type(mount.type());
  }
}

std::vector<std::string> MissingSince(const v1::RebootArmed& armed, const v1::Facts& now) {
  std::vector<std::string> missing;
  for (const v1::GpuBefore& before : armed.gpus()) {
    const bool is_there =
        std::any_of(now.gpus().begin(), now.gpus().end(),
                    [&](const v1::GpuFacts& gpu) { return gpu.uuid() == before.uuid(); });
    if (!is_there) missing.push_back(absl::StrCat("GPU ", before.uuid(), " (", before.name(), ")"));
  }
  for (const v1::MountBefore& before : armed.mounts()) {
    const bool is_there =
        std::any_of(now.mounts().begin(), now.mounts().end(), [&](const v1::MountFacts& mount) {
          return mount.target() == before.target() && mount.type() == before.type();
        });
    if (!is_there && !IsAutomounted(before.target(), now))
      missing.push_back(absl::StrCat("mount ", before.target(), " (", before.type(), ")"));
  }
  return missing;
}

}  // namespace muster::agent
