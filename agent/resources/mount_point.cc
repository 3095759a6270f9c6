#include "agent/resources/mount_point.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/resources/mount_comparison.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "common/sys/boot_id.h"

namespace muster::agent {
namespace {

constexpr char kUnitFolder[] = "/etc/systemd/system";
constexpr char kFstab[] = "/etc/fstab";
constexpr char kMountInfo[] = "/proc/self/mountinfo";

// Records that a mounted file system still has to adopt the changes to its unit, and in which boot:
// kept from before the unit changes until that is done, because nothing shows it afterwards.
constexpr char kMountRecord[] = "mount";
constexpr char kRemount[] = "remount";
constexpr char kMountAgain[] = "mount again";
// Followed by the quotas that it is mounted with. Nothing is done about it: mounting again stops
// every service that requires the mount, such as slurmd with its jobs.
constexpr absl::string_view kOtherQuotas = "other quotas than ";

bool IsMounted(const UnitStatus& status) {
  return status.active_state == "active" || status.active_state == "reloading";
}

bool IsMountEnabled(const UnitStatus& status) { return status.unit_file_state == "enabled"; }

}  // namespace

std::string MountUnitPath(absl::string_view mount_path) {
  return absl::StrCat(kUnitFolder, "/", MountUnitName(mount_path));
}

MountPoint::MountPoint(v1::MountResource spec, std::string owner, ResourceContext& context,
                       bool want_diff)
    : spec_(std::move(spec)),
      context_(context),
      want_diff_(want_diff),
      name_(MountUnitName(spec_.path())),
      file_(MountUnitPath(spec_.path())),
      wanted_(absent() ? MountUnit() : MakeMountUnit(spec_, owner)),
      content_(absent() ? "" : FormatMountUnit(wanted_, spec_.path())) {}

absl::StatusOr<std::string> MountPoint::UnitFile() {
  auto content = context_.files.Read(file_);
  if (absl::IsNotFound(content.status())) return std::string();
  return content;
}

absl::Status MountPoint::CheckFstab() {
  ASSIGN_OR_RETURN(const std::string unit, UnitFile());
  if (absent() && !unit.empty()) return absl::OkStatus();  // first things first
  const absl::StatusOr<std::string> fstab = context_.files.Read(kFstab);
  if (absl::IsNotFound(fstab.status())) return absl::OkStatus();
  RETURN_IF_ERROR(fstab.status());
  const std::optional<int> line = FindInFstab(*fstab, spec_.path());
  if (!line.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(kFstab, ":", *line, " on the node has an entry for ", spec_.path(),
                   " too; remove it in an earlier task (line, with state: absent)"));
}

// systemd mounts by path: the owner of a folder on it decides what the mount covers.
absl::Status MountPoint::CheckPlace() {
  if (absent()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string folder, context_.files.ForeignFolder(spec_.path()));
  if (folder.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(folder, " above ", spec_.path(),
                   " can be changed by users other than root on the node, who could redirect the "
                   "mount; mount below a folder that only root can change"));
}

absl::StatusOr<std::vector<Change>> MountPoint::CompareFile() {
  ASSIGN_OR_RETURN(const std::string now, UnitFile());
  std::vector<Change> changes;
  if (now == content_) return changes;
  if (now.empty() || content_.empty()) {
    changes.push_back(
        {"unit", now.empty() ? "absent" : "present", now.empty() ? "present" : "absent"});
  } else {
    const MountUnit before = ParseMountUnit(now);
    const struct {
      const char* field;
      const std::string MountUnit::*value;
    } kFields[] = {{"source", &MountUnit::source},
                   {"type", &MountUnit::type},
                   {"options", &MountUnit::options},
                   {"after", &MountUnit::after}};
    for (const auto& row : kFields) {
      if (before.*row.value != wanted_.*row.value)
        changes.push_back({row.field, before.*row.value, wanted_.*row.value});
    }
    if (changes.empty()) changes.push_back({"unit", "present", "changed"});
  }
  if (want_diff_) changes.front().diff = UnifiedDiff(now, content_, file_);
  return changes;
}

// nullopt also for a record of an earlier boot, since every boot mounts by the unit as it is. One
// of an older agent names no boot: to do it once too often is seen, to forget it is not.
absl::StatusOr<std::optional<std::string>> MountPoint::Pending() {
  ASSIGN_OR_RETURN(const auto record, context_.records.Get(kMountRecord, spec_.path()));
  if (!record.has_value()) return std::optional<std::string>();
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(*record, absl::MaxSplits('\n', 1));
  const auto& [what, boot] = parts;
  if (!boot.empty()) {
    ASSIGN_OR_RETURN(const std::string now, sys::ReadBootId(context_.files));
    if (boot != now) return std::optional<std::string>();
  }
  return std::optional<std::string>(what);
}

absl::Status MountPoint::SetPending(absl::string_view what) {
  ASSIGN_OR_RETURN(const std::string boot, sys::ReadBootId(context_.files));
  return context_.records.Put(kMountRecord, spec_.path(), absl::StrCat(what, "\n", boot));
}

// systemd takes whatever is mounted at the path for the unit's own: what fstab has mounted before
// its entry was removed, or somebody by hand. Asked only where the unit is not there yet. Later,
// what is mounted counts as the unit's own, though somebody may have mounted another by hand: the
// kernel may show one and the same mount by another name, such as that of the server to which NFS
// refers, and mounting it again would end the jobs that use it.
absl::StatusOr<std::optional<std::string>> MountPoint::Other(const UnitStatus& status) {
  if (!context_.is_running || !at_boot() || !IsMounted(status)) return std::nullopt;
  const absl::StatusOr<std::string> mountinfo = context_.files.Read(kMountInfo);
  if (absl::IsNotFound(mountinfo.status())) return std::nullopt;
  RETURN_IF_ERROR(mountinfo.status());
  return OtherMount(wanted_, spec_.path(), *mountinfo, context_.disks);
}

absl::StatusOr<std::vector<Change>> MountPoint::Check() {
  RETURN_IF_ERROR(CheckFstab());
  RETURN_IF_ERROR(CheckPlace());
  ASSIGN_OR_RETURN(std::vector<Change> changes, CompareFile());
  ASSIGN_OR_RETURN(const UnitStatus status, context_.units.GetStatus(name_));
  if (absent()) {
    if (IsMounted(status)) changes.push_back({"state", "mounted", "unmounted"});
    return changes;
  }
  ASSIGN_OR_RETURN(const auto pending, Pending());
  if (changes.empty() && pending.has_value() && IsMounted(status))
    changes.push_back(
        {"state", "mounted as before", *pending == kRemount ? "remounted" : "mounted again"});
  ASSIGN_OR_RETURN(const std::string file, UnitFile());
  if (file.empty()) {
    ASSIGN_OR_RETURN(std::optional<std::string> other, Other(status));
    if (other.has_value())
      changes.push_back(
          {"mounted", *std::move(other), absl::StrCat(wanted_.source, " (", wanted_.type, ")")});
  }
  if (!file.empty() && at_boot() != IsMountEnabled(status))
    changes.push_back({"at boot", at_boot() ? "no" : "yes", at_boot() ? "yes" : "no"});
  if (context_.is_running && at_boot() && !IsMounted(status))
    changes.push_back({"state", status.active_state, "mounted"});
  return changes;
}

// Writes the unit. If a mounted file system has to adopt changes, that is recorded first.
absl::Status MountPoint::PutUnit(const UnitStatus& status) {
  ASSIGN_OR_RETURN(const std::string now, UnitFile());
  if (now == content_)
    return status.need_daemon_reload ? context_.units.DaemonReload() : absl::OkStatus();
  const MountUnit before = ParseMountUnit(now);
  if (now.empty() && IsMounted(status)) {
    // The options of whoever mounted it stay until the next boot: a remount may refuse others, such
    // as the version of NFS, for as long as jobs use the file system.
    ASSIGN_OR_RETURN(const auto other, Other(status));
    if (other.has_value()) RETURN_IF_ERROR(SetPending(kMountAgain));
  } else if (IsMounted(status)) {
    ASSIGN_OR_RETURN(const auto pending, Pending());
    std::string quotas = XfsQuotas(before);
    if (pending.has_value() && absl::StartsWith(*pending, kOtherQuotas))
      quotas = pending->substr(kOtherQuotas.size());
    if (before.source != wanted_.source || before.type != wanted_.type || pending == kMountAgain) {
      RETURN_IF_ERROR(SetPending(kMountAgain));
    } else if (quotas != XfsQuotas(wanted_)) {
      RETURN_IF_ERROR(SetPending(absl::StrCat(kOtherQuotas, quotas)));
    } else if (before.options != wanted_.options) {
      RETURN_IF_ERROR(SetPending(kRemount));
    }
  }
  // The link at the old place would outlive the change.
  if (!now.empty() && before.wanted_by != wanted_.wanted_by && IsMountEnabled(status))
    RETURN_IF_ERROR(context_.units.SetEnabled(name_, false));
  RETURN_IF_ERROR(context_.files.MakeDirectory(kUnitFolder, 0755));
  RETURN_IF_ERROR(context_.files.WriteAtomically(file_, content_, {.mode = 0644}));
  return context_.units.DaemonReload();
}

absl::Status MountPoint::Run(UnitJob job, absl::string_view activity, ApplyObserver& observer) {
  const std::string what = absl::StrCat(activity, " ", spec_.path());
  observer.OnActivity(what, std::nullopt);
  return Annotate(context_.units.Run(job, name_), what);
}

absl::Status MountPoint::Apply(ApplyObserver& observer) {
  RETURN_IF_ERROR(CheckFstab());
  RETURN_IF_ERROR(CheckPlace());
  if (absent()) return ApplyAbsent(observer);
  ASSIGN_OR_RETURN(UnitStatus status, context_.units.GetStatus(name_));
  RETURN_IF_ERROR(PutUnit(status));
  ASSIGN_OR_RETURN(status, context_.units.GetStatus(name_));
  if (at_boot() != IsMountEnabled(status))
    RETURN_IF_ERROR(context_.units.SetEnabled(name_, at_boot()));
  ASSIGN_OR_RETURN(const auto pending, Pending());
  // An older agent's record gets this boot, so that the next one ends it.
  if (pending.has_value()) RETURN_IF_ERROR(SetPending(*pending));
  if (!IsMounted(status)) {
    if (context_.is_running && at_boot())
      RETURN_IF_ERROR(Run(UnitJob::kStart, "mounting", observer));
  } else if (pending == kRemount) {
    RETURN_IF_ERROR(Annotate(
        Run(UnitJob::kReloadOrRestart, "remounting", observer),
        absl::StrCat("the changed options count from the next boot on, or now by `systemctl "
                     "restart ",
                     spec_.path(), "` on the node when nothing uses it (`fuser -vm ", spec_.path(),
                     "` shows what does)")));
  } else if (pending.has_value() && absl::StartsWith(*pending, kOtherQuotas)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the changed quotas of ", spec_.path(),
                     " count from the next boot on, or now by `systemctl stop ", spec_.path(),
                     "` on the node when nothing uses it (`fuser -vm ", spec_.path(),
                     "` shows what does), and another apply, which mounts it"));
  } else if (pending.has_value()) {
    RETURN_IF_ERROR(
        Annotate(Run(UnitJob::kRestart, "mounting again", observer),
                 absl::StrCat("`fuser -vm ", spec_.path(), "` on the node shows what uses it")));
  }
  return context_.records.Remove(kMountRecord, spec_.path());
}

absl::Status MountPoint::ApplyAbsent(ApplyObserver& observer) {
  ASSIGN_OR_RETURN(const UnitStatus status, context_.units.GetStatus(name_));
  if (IsMounted(status))
    RETURN_IF_ERROR(
        Annotate(Run(UnitJob::kStop, "unmounting", observer),
                 absl::StrCat("`fuser -vm ", spec_.path(), "` on the node shows what uses it")));
  ASSIGN_OR_RETURN(const std::string file, UnitFile());
  if (!file.empty()) {
    // Before its file is removed, which says where its link is.
    RETURN_IF_ERROR(context_.units.SetEnabled(name_, false));
    RETURN_IF_ERROR(context_.files.Remove(file_, /*recursive=*/false));
    RETURN_IF_ERROR(context_.units.DaemonReload());
  }
  return context_.records.Remove(kMountRecord, spec_.path());
}

}  // namespace muster::agent
