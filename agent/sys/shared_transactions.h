// One transaction for the packages that several roles want at the same moment.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/sys/package_manager.h"

namespace muster {
class Clock;
}

namespace muster::agent {

// A package manager that carries out calls of Apply() together. Roles run side by side, each with
// packages of its own, and each transaction costs a second or two beside its packages: reading the
// database, triggers, the journal of dpkg. While one runs, others wait; the next one takes along
// all that wait and fit, which are plain installations of the same kind. Before it begins it
// fetches the lists where they are missing, and waits until no further call has come for a moment,
// because roles that begin together, or waited for the same transaction, reach their packages at
// about the same time. When a shared transaction fails, a caller whose packages are there
// nevertheless succeeds, and each of the others is tried alone and gets its own error. Thread-safe.
//
// A caller that was taken along hears of activities while it waits, in the thread of the caller
// that took it along, which gets the output.
class SharedTransactions final : public PackageManager {
 public:
  // The clock must outlive the object.
  SharedTransactions(std::unique_ptr<PackageManager> manager, Clock& clock)
      : manager_(std::move(manager)), clock_(clock) {}

  PackageFamily family() const override { return manager_->family(); }
  absl::StatusOr<std::map<std::string, PackageStatus>> Query(const std::vector<std::string>& names,
                                                             bool with_candidates) override {
    return manager_->Query(names, with_candidates);
  }
  absl::Status Apply(const PackageTransaction& transaction,
                     const PackageObserver& observer) override;
  absl::StatusOr<std::vector<PackageUpgrade>> Upgrades(UpgradeScope scope) override {
    return manager_->Upgrades(scope);
  }
  absl::StatusOr<PackagePreview> Preview(const PackageTransaction& transaction) override {
    return manager_->Preview(transaction);
  }
  absl::Status Update(absl::Duration max_age, const PackageObserver& observer) override {
    return manager_->Update(max_age, observer);
  }
  absl::StatusOr<bool> IsOlder(const std::string& a, const std::string& b) override {
    return manager_->IsOlder(a, b);
  }
  absl::StatusOr<std::string> ModuleStream(const std::string& module) override {
    return manager_->ModuleStream(module);
  }
  absl::Status SetModuleStream(const std::string& module, const std::string& stream,
                               const PackageObserver& observer) override {
    return manager_->SetModuleStream(module, stream, observer);
  }

 private:
  struct Call {
    const PackageTransaction& transaction;
    const PackageObserver& observer;
    bool is_taken = false;  // another call's transaction is also this one's
    bool is_alone = false;  // a transaction with others failed
    bool is_new = false;    // nothing of it was installed before that
    bool is_done = false;
    absl::Status outcome = {};  // of a call that was taken along
  };

  // The calls that wait and may go along with the first.
  std::vector<Call*> Companions() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fetches the lists that the first call needs, and lets others join it.
  absl::Status Gather(const Call& first);
  absl::Status ApplyTogether(Call& first, const std::vector<Call*>& others);
  // Whether a transaction that failed has installed all that this call wanted.
  bool HasComeThrough(const Call& call);

  const std::unique_ptr<PackageManager> manager_;
  Clock& clock_;
  absl::Mutex mutex_;
  bool is_busy_ ABSL_GUARDED_BY(mutex_) = false;     // the first call's transaction runs
  std::deque<Call*> calls_ ABSL_GUARDED_BY(mutex_);  // in the order in which they came
};

}  // namespace muster::agent
