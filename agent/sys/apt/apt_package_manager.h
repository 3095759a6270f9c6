// Packages of Debian and its derivatives, by apt-get and dpkg.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/sys/apt/apt_marks.h"
#include "agent/sys/apt/apt_output.h"
#include "agent/sys/apt/dpkg_status.h"
#include "agent/sys/list_age.h"
#include "agent/sys/package_lock.h"
#include "agent/sys/package_manager.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {

struct AptOptions {
  std::string work_folder = "/var/lib/muster/apt";
  absl::Duration lock_timeout = absl::Minutes(30);
  absl::Duration transaction_timeout = absl::Hours(2);
  absl::Duration update_timeout = absl::Minutes(15);
  std::function<std::optional<LockHolder>()> find_lock_holder = &FindPackageLockHolder;
};

// A transaction survives the death of the agent: apt-get has a session of its own and writes to
// files in `work_folder`, never into a pipe that would break under it, and the agent's unit has
// KillMode=process. A restarted agent checks its step again, finds the lock held, waits and reports
// by whom; the half-done work of a killed dpkg is repaired first. Marks that apt-get removed
// meanwhile are restored by the next transaction, or by the first look that finds the lock free.
class AptPackageManager final : public PackageManager {
 public:
  AptPackageManager(sys::FileSystem& files, sys::ProcessRunner& processes, Clock& clock,
                    AptOptions options = {});

  PackageFamily family() const override { return PackageFamily::kApt; }
  absl::StatusOr<std::map<std::string, PackageStatus>> Query(const std::vector<std::string>& names,
                                                             bool with_candidates) override;
  absl::Status Apply(const PackageTransaction& transaction,
                     const PackageObserver& observer) override;
  absl::StatusOr<std::vector<PackageUpgrade>> Upgrades(UpgradeScope scope) override;
  absl::StatusOr<PackagePreview> Preview(const PackageTransaction& transaction) override;
  absl::Status Update(absl::Duration max_age, const PackageObserver& observer) override;
  absl::StatusOr<bool> IsOlder(const std::string& a, const std::string& b) override;
  absl::StatusOr<std::string> ModuleStream(const std::string& module) override;
  absl::Status SetModuleStream(const std::string& module, const std::string& stream,
                               const PackageObserver& observer) override;

 private:
  absl::StatusOr<std::shared_ptr<const DpkgStatus>> ReadStatus();
  bool HasLists();
  // Those for which the distribution offers a security update, be it in a later version.
  absl::StatusOr<std::vector<PackageUpgrade>> OnlySecurity(std::vector<PackageUpgrade> upgrades);
  // The total size of the archives; 0 if a list does not say.
  uint64_t SizeOf(const std::map<std::string, std::string>& versions);
  // True also when there are none.
  bool ListsAreOlderThan(absl::Duration max_age);
  absl::Status AwaitLock(const PackageObserver& observer);
  // Finishes the half-done work of an earlier transaction as far as possible: the rest shows in the
  // next transaction, which may be the one that removes the culprit.
  absl::Status RepairInterrupted(const PackageObserver& observer);
  bool IsInterrupted(const DpkgStatus& status);
  // Removes no package to that end: no task names it.
  absl::StatusOr<bool> FixBroken(const PackageObserver& observer);
  absl::StatusOr<bool> Repair(const std::string& name, std::vector<std::string> argv,
                              const PackageObserver& observer);
  void PauseForServer(int attempt, const PackageObserver& observer);
  absl::Status UpdateLists(absl::Duration max_age, const PackageObserver& observer);
  absl::Status Install(const PackageTransaction& transaction, const PackageObserver& observer);
  // Holds and releases packages, and restores the marks that apt-get removed on its way: holds, and
  // those of dependencies.
  absl::Status Mark(const PackageTransaction& transaction, const AptMarks& marks,
                    const PackageObserver& observer);
  // Restores those that a transaction of an earlier agent has left.
  absl::Status RestoreMarks(const PackageObserver& observer);
  // The same, unless a transaction runs or was interrupted.
  void TryToRestoreMarks();
  // Those packages that an upgrade names and that came as dependencies. apt-get itself takes a
  // package that is named for one that was asked for, --only-upgrade or not.
  absl::StatusOr<std::vector<std::string>> Dependencies(const PackageTransaction& transaction);
  // Those packages of the transaction that are on hold.
  absl::StatusOr<std::vector<std::string>> Held(const PackageTransaction& transaction);
  // Runs one apt-get or dpkg and follows it until its end.
  absl::StatusOr<sys::ProcessResult> RunTool(std::vector<std::string> argv, absl::Duration timeout,
                                             const PackageObserver& observer);
  // Carries out what should be tried before repeating the transaction; false: nothing helps.
  absl::StatusOr<bool> Remedy(const AptFailure& failure, const PackageObserver& observer);
  absl::Status Explain(const AptFailure& failure, const sys::ProcessResult& result);
  std::string Explain(const std::string& unknown);
  // What the compiler said where DKMS could not build a module; may be empty.
  std::string BuildLogOf(const AptFailure& failure);

  sys::FileSystem& files_;
  sys::ProcessRunner& processes_;
  Clock& clock_;
  const AptOptions options_;
  ListAge age_;
  AptMarksFile marks_;

  absl::Mutex transaction_mutex_;  // one at a time, held for minutes; Query() never waits for it
  absl::Mutex cache_mutex_;
  std::shared_ptr<const DpkgStatus> cache_ ABSL_GUARDED_BY(cache_mutex_);
  int64_t cache_modified_ns_ ABSL_GUARDED_BY(cache_mutex_) = -1;
  uint64_t cache_size_ ABSL_GUARDED_BY(cache_mutex_) = 0;
};

}  // namespace muster::agent
