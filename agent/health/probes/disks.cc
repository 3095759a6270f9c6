// What disks say of themselves: SMART, and its like of NVMe.
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/facts/sysfs.h"
#include "agent/health/probes/child.h"
#include "agent/health/probes/probe.h"

namespace muster::agent::health {
namespace {

constexpr size_t kMaxDisks = 64;
constexpr absl::Duration kDiskTimeLimit = absl::Seconds(15);
// smartctl(8), "EXIT STATUS", bit 3: the disk says that it is failing. Bits 0 to 2: it could not be
// asked, or did not answer all that was asked; it may sleep.
constexpr int kFailing = 1 << 3;
constexpr int kNotAsked = 1 << 0 | 1 << 1 | 1 << 2;

// Begins the name of a block device that is no disk.
constexpr absl::string_view kNoDisks[] = {"loop", "ram", "zram", "dm-", "md", "nbd", "sr", "fd"};

bool IsDisk(absl::string_view name) {
  for (const absl::string_view prefix : kNoDisks)
    if (absl::StartsWith(name, prefix)) return false;
  return true;
}

class DiskProbe final : public Probe {
 public:
  explicit DiskProbe(const ProbeContext& context)
      : root_(context.root), processes_(*context.processes) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits&) override {
    Findings findings;
    const std::string block = root_ + "/sys/block";
    size_t watched = 0;
    for (const std::string& name : ListNames(block)) {
      if (!IsDisk(name) || ReadNumber(absl::StrCat(block, "/", name, "/size")).value_or(0) <= 0)
        continue;
      if (++watched > kMaxDisks) break;
      Child& child = children_.try_emplace(name, processes_).first->second;
      const std::string device = absl::StrCat("/dev/", name);
      // Does not wake a disk that sleeps.
      const absl::StatusOr<sys::ProcessResult> asked =
          child.Run({"smartctl", "--nocheck=standby", "--health", device}, kDiskTimeLimit);
      if (absl::IsNotFound(asked.status())) {
        findings.not_watched = {"disk_health"};
        return findings;
      }
      if (!asked.ok()) {
        findings.Unknown("disk_health", name, std::string(asked.status().message()));
      } else if ((asked->exit_code & kFailing) != 0) {
        findings.Bad("disk_health", name,
                     absl::StrCat(device, " says that it is failing: smartctl --all ", device));
      } else if (asked->signal == 0 && (asked->exit_code & kNotAsked) == 0) {
        // Disks behind many controllers, and virtual ones, never answer: they are neither.
        findings.well.emplace_back("disk_health", name);
      }
    }
    return findings;
  }

 private:
  const std::string root_;
  sys::ProcessRunner& processes_;
  std::map<std::string, Child> children_;  // by disk
};

}  // namespace

std::unique_ptr<Probe> MakeDiskProbe(const ProbeContext& context) {
  return std::make_unique<DiskProbe>(context);
}

}  // namespace muster::agent::health
