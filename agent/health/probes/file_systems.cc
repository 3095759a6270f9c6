// Local file systems: their room, and whether their disks have failed.
#include <sys/statvfs.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "agent/health/probes/mounted.h"
#include "agent/health/probes/probe.h"
#include "common/base/status.h"

namespace muster::agent::health {
namespace {

constexpr size_t kMaxFileSystems = 64;

class FileSystemProbe final : public Probe {
 public:
  explicit FileSystemProbe(const ProbeContext& context) : root_(context.root) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    ASSIGN_OR_RETURN(const std::vector<Mounted> all, ReadMounted(root_));
    Findings findings;
    std::set<std::string> sources;
    for (const Mounted& mounted : all) {
      if (!IsLocal(mounted) || sources.size() >= kMaxFileSystems) continue;
      // A device that is mounted at several places is looked at once.
      const bool is_device = mounted.type != "tmpfs";
      if (!sources.insert(is_device ? mounted.source : mounted.path).second) continue;
      // The kernel itself made it so: whoever remounts it changes both.
      if (mounted.is_disk_read_only)
        findings.Bad("disk_readonly", mounted.path,
                     absl::StrCat(mounted.path, " (", mounted.source,
                                  ") has become read-only: see the kernel's log"));
      struct statvfs room = {};
      if (statvfs((root_ + mounted.path).c_str(), &room) != 0) continue;
      JudgeRoom(mounted.path,
                {.blocks = static_cast<double>(room.f_blocks),
                 .free_blocks = static_cast<double>(room.f_bfree),
                 .blocks_for_users = static_cast<double>(room.f_bavail),
                 .inodes = static_cast<double>(room.f_files),
                 .free_inodes = static_cast<double>(room.f_ffree)},
                limits, findings);
    }
    return findings;
  }

 private:
  const std::string root_;
};

}  // namespace

std::unique_ptr<Probe> MakeFileSystemProbe(const ProbeContext& context) {
  return std::make_unique<FileSystemProbe>(context);
}

}  // namespace muster::agent::health
