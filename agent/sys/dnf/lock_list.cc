#include "agent/sys/dnf/lock_list.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/sys/dnf/version_locks.h"
#include "agent/sys/package_manager.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr char kConfigurationOfLocks[] = "/etc/dnf/plugins/versionlock.conf";

}  // namespace

bool LockList::IsInstalled() const {
  return !absl::IsNotFound(files_.Read(kConfigurationOfLocks).status());
}

absl::StatusOr<LockList::Content> LockList::Read() const {
  const auto configuration = files_.Read(kConfigurationOfLocks);
  if (absl::IsNotFound(configuration.status())) return Content{};
  RETURN_IF_ERROR(configuration.status());
  Content locks;
  if (!VersionLockIsEnabled(*configuration)) return locks;
  locks.path = VersionLockPath(*configuration);
  if (!absl::StartsWith(locks.path, "/"))
    return absl::FailedPreconditionError(
        absl::StrCat(kConfigurationOfLocks, " names no file in locklist"));
  const auto text = files_.Read(locks.path);
  if (text.ok()) {
    locks.text = *text;
  } else if (!absl::IsNotFound(text.status())) {
    return text.status();
  }
  return locks;
}

absl::Status LockList::Move(const Content& locks, const PackageTransaction& transaction) {
  if (locks.path.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const InstalledRpms::Database database, installed_.Read());
  VersionLocks moved(locks.text);
  const std::vector<RpmPackage> installed = database->All();
  for (const std::string& name : transaction.release)
    for (const RpmPackage& package : database->Find(name)) moved.Release(package);
  for (const std::string& name : transaction.remove)
    for (const RpmPackage& package : database->Find(name)) moved.ReleaseOnly(package, installed);
  for (const std::string& item : transaction.install) {
    const std::string name = NameOf(item);
    if (name == item) continue;
    for (RpmPackage package : database->Find(name)) {
      if (!moved.Holds(package)) continue;
      moved.ReleaseOnly(package, installed);
      package.version = item.substr(name.size() + 1);
      moved.Hold(package);
    }
  }
  if (moved.Text() == VersionLocks(locks.text).Text()) return absl::OkStatus();
  return files_.WriteAtomically(locks.path, moved.Text(), {.mode = 0644});
}

absl::Status LockList::Restore(const Content& locks, const RpmDatabase& before) {
  if (locks.path.empty()) return absl::OkStatus();
  const VersionLocks old(locks.text);
  VersionLocks restored(locks.text);
  // A database that cannot be read is repaired before the next transaction.
  if (const auto now = installed_.Read(); now.ok()) {
    for (const RpmPackage& package : before.All()) {
      if (!old.Holds(package)) continue;
      const std::vector<RpmPackage> present =
          (*now)->Find(absl::StrCat(package.name, ".", package.arch));
      const auto is_held = [&](const RpmPackage& one) { return restored.Holds(one); };
      if (absl::c_all_of(present, is_held)) continue;
      if ((*now)->FindNevra(package.Nevra()) == nullptr)
        restored.ReleaseOnly(package, (*now)->All());
      for (const RpmPackage& one : present)
        if (!is_held(one)) restored.Hold(one);
    }
  }
  const std::string text = restored.Text() == old.Text() ? locks.text : restored.Text();
  return files_.WriteAtomically(locks.path, text, {.mode = 0644});
}

absl::Status LockList::Settle(const std::vector<std::string>& held,
                              const PackageTransaction& transaction) {
  ASSIGN_OR_RETURN(const Content locks, Read());
  if (locks.path.empty()) {
    if (transaction.hold.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("a hold needs dnf's versionlock: install ",
                                                      kPackage, ", and write 'enabled = 1' in ",
                                                      kConfigurationOfLocks));
  }
  ASSIGN_OR_RETURN(const InstalledRpms::Database database, installed_.Read());
  VersionLocks settled(locks.text);
  for (const auto* names : {&held, &transaction.hold})
    for (const std::string& name : *names)
      if (!absl::c_linear_search(transaction.release, name))
        for (const RpmPackage& package : database->Find(name))
          if (!settled.Holds(package)) settled.Hold(package);
  if (settled.Text() == VersionLocks(locks.text).Text()) return absl::OkStatus();
  return files_.WriteAtomically(locks.path, settled.Text(), {.mode = 0644});
}

}  // namespace muster::agent
