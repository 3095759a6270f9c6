// Packages of Red Hat Enterprise Linux and its relatives, by dnf and rpm.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "agent/sys/dnf/dnf_output.h"
#include "agent/sys/dnf/installed_rpms.h"
#include "agent/sys/dnf/lock_list.h"
#include "agent/sys/dnf/offered_rpms.h"
#include "agent/sys/list_age.h"
#include "agent/sys/package_lock.h"
#include "agent/sys/package_manager.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {

struct DnfOptions {
  std::string work_folder = "/var/lib/muster/dnf";
  std::string machine;  // uname -m: of the packages in repositories, those for it
  absl::Duration lock_timeout = absl::Minutes(30);
  absl::Duration transaction_timeout = absl::Hours(2);
  absl::Duration update_timeout = absl::Minutes(15);
  std::function<std::optional<LockHolder>(const std::string& database_folder)> find_lock_holder =
      &FindDnfLockHolder;
};

// A transaction survives the death of the agent, as apt's does (AptPackageManager).
//
// An interrupted dnf leaves three things, and each is repaired before the next transaction:
// packages in two versions, because the old one was not removed yet; packages that rpm lists as
// installed although their scripts did not run, which only dnf's history knows; and, rarely, a
// database that must be rebuilt. A package whose script failed is in the same state: rpm only
// warns. Both kinds are "half done" until they have been installed again.
class DnfPackageManager final : public PackageManager {
 public:
  DnfPackageManager(sys::FileSystem& files, sys::ProcessRunner& processes, Clock& clock,
                    DnfOptions options = {});

  PackageFamily family() const override { return PackageFamily::kDnf; }
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
  absl::Status AwaitLock(const PackageObserver& observer);
  absl::Status RepairInterrupted(const PackageTransaction& transaction,
                                 const PackageObserver& observer);
  absl::Status Repair(const std::string& what, std::vector<std::string> argv,
                      const PackageObserver& observer);
  absl::Status UpdateLists(absl::Duration max_age, const PackageObserver& observer);
  absl::Status Install(const PackageTransaction& transaction, const PackageObserver& observer);
  // The command line of the transaction; writes its file if it needs one.
  absl::StatusOr<std::vector<std::string>> CommandLine(const PackageTransaction& transaction);
  // The error of packages whose scripts failed in a transaction that came to its end.
  absl::Status CheckScripts(const sys::ProcessResult& result);
  absl::StatusOr<sys::ProcessResult> RunTool(std::vector<std::string> argv, absl::Duration timeout,
                                             const PackageObserver& observer);
  absl::StatusOr<bool> Remedy(const DnfFailure& failure, const PackageObserver& observer);
  absl::Status Explain(const DnfFailure& failure, const sys::ProcessResult& result,
                       const PackageTransaction& transaction);
  std::string Explain(const std::string& unknown, const PackageTransaction& transaction);

  sys::FileSystem& files_;
  sys::ProcessRunner& processes_;
  Clock& clock_;
  const DnfOptions options_;
  InstalledRpms installed_;
  const OfferedRpms offered_;
  LockList locks_;
  ListAge age_;
  absl::Mutex transaction_mutex_;  // one at a time, held for minutes; never by Query()
};

}  // namespace muster::agent
