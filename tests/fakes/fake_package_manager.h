// A package manager with a shelf of packages.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "agent/sys/package_manager.h"

namespace muster::testing {

// Thread-safe, except for the public maps, which the test fills before.
class FakePackageManager final : public agent::PackageManager {
 public:
  std::map<std::string, std::string> available;  // name → version in the repositories
  std::map<std::string, std::string> installed;  // name → version on the node
  absl::Status update_error;

  // Transactions as "install a b remove c", and "update".
  std::vector<std::string> log() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }

  absl::StatusOr<std::map<std::string, agent::PackageStatus>> Query(
      const std::vector<std::string>& names, bool with_candidates) override {
    absl::MutexLock lock(&mutex_);
    std::map<std::string, agent::PackageStatus> found;
    for (const std::string& name : names) {
      agent::PackageStatus& status = found[name];
      if (const auto it = installed.find(name); it != installed.end()) {
        status.installed = true;
        status.version = it->second;
      }
      if (const auto it = available.find(name); with_candidates && it != available.end())
        status.candidate = it->second;
    }
    return found;
  }

  absl::Status Apply(const agent::PackageTransaction& transaction,
                     const agent::PackageObserver& observer) override {
    absl::MutexLock lock(&mutex_);
    log_.push_back(absl::StrCat(
        transaction.install.empty() ? "" : "install ", absl::StrJoin(transaction.install, " "),
        transaction.remove.empty() ? "" : " remove ", absl::StrJoin(transaction.remove, " ")));
    for (const std::string& item : transaction.install) {
      const std::string name = item.substr(0, item.find('='));
      const auto it = available.find(name);
      if (it == available.end())
        return absl::NotFoundError(absl::StrCat("package '", name, "' does not exist"));
      if (observer.on_activity) observer.on_activity(absl::StrCat("unpacking ", name), 50);
      installed[name] = it->second;
    }
    for (const std::string& name : transaction.remove) installed.erase(name);
    return absl::OkStatus();
  }

  absl::Status Update(absl::Duration max_age, const agent::PackageObserver& observer) override {
    absl::MutexLock lock(&mutex_);
    log_.push_back("update");
    return update_error;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::testing
