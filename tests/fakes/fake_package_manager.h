// A package manager with a fixed choice of packages.
#pragma once

#include <map>
#include <set>
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
  std::map<std::string, std::string> available;            // name → version in the repositories
  std::map<std::string, std::vector<std::string>> others;  // further versions in the repositories
  std::map<std::string, std::string> installed;            // name → version on the node
  std::set<std::string> held, half_done, configuration_left;
  std::set<std::string> security;  // packages whose available version is a security update
  absl::Status update_error;
  absl::Status lists_error;  // until the next update
  bool has_lists = true;
  uint64_t archive_bytes = 0;  // per package
  std::map<std::string, std::vector<std::string>> dependencies, dependents;
  agent::PackageFamily packages_of = agent::PackageFamily::kApt;
  std::map<std::string, std::string> streams;  // module → its enabled stream

  // Transactions as "install a b remove c", and "update".
  std::vector<std::string> log() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }

  agent::PackageFamily family() const override { return packages_of; }

  absl::StatusOr<std::string> ModuleStream(const std::string& module) override {
    absl::MutexLock lock(&mutex_);
    return streams[module];
  }
  absl::Status SetModuleStream(const std::string& module, const std::string& stream,
                               const agent::PackageObserver& observer) override {
    absl::MutexLock lock(&mutex_);
    log_.push_back(absl::StrCat("stream ", module, ":", stream));
    streams[module] = stream;
    return absl::OkStatus();
  }

  absl::StatusOr<std::map<std::string, agent::PackageStatus>> Query(
      const std::vector<std::string>& names, bool with_candidates) override {
    absl::MutexLock lock(&mutex_);
    if (with_candidates && !lists_error.ok()) return lists_error;
    std::map<std::string, agent::PackageStatus> found;
    for (const std::string& name : names) {
      agent::PackageStatus& status = found[name];
      if (const auto it = installed.find(name); it != installed.end()) {
        status.installed = true;
        status.version = it->second;
      }
      status.half_done = half_done.count(name) > 0;
      status.held = held.count(name) > 0;
      status.configuration_left = configuration_left.count(name) > 0;
      if (const auto it = available.find(name); with_candidates && it != available.end()) {
        status.candidate = it->second;
        status.available = {it->second};
        for (const std::string& version : others[name]) status.available.push_back(version);
      }
    }
    return found;
  }

  absl::Status Apply(const agent::PackageTransaction& transaction,
                     const agent::PackageObserver& observer) override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> words;
    const struct {
      const char* verb;
      const std::vector<std::string>& items;
    } kRows[] = {{transaction.only_upgrade ? "upgrade" : "install", transaction.install},
                 {transaction.purge ? "purge" : "remove", transaction.remove},
                 {"hold", transaction.hold},
                 {"release", transaction.release}};
    for (const auto& row : kRows) {
      if (row.items.empty()) continue;
      words.emplace_back(row.verb);
      words.insert(words.end(), row.items.begin(), row.items.end());
    }
    log_.push_back(absl::StrJoin(words, " "));
    for (const std::string& item : transaction.install) {
      const std::string name = item.substr(0, item.find('='));
      const auto it = available.find(name);
      if (it == available.end())
        return absl::NotFoundError(absl::StrCat("package '", name, "' does not exist"));
      if (observer.on_activity) observer.on_activity(absl::StrCat("unpacking ", name), 50);
      installed[name] = name == item ? it->second : item.substr(name.size() + 1);
    }
    for (const std::string& name : transaction.remove) {
      installed.erase(name);
      half_done.erase(name);
      configuration_left.insert(name);
      if (transaction.purge) configuration_left.erase(name);
    }
    held.insert(transaction.hold.begin(), transaction.hold.end());
    for (const std::string& name : transaction.release) held.erase(name);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<agent::PackageUpgrade>> Upgrades(agent::UpgradeScope scope) override {
    absl::MutexLock lock(&mutex_);
    if (!lists_error.ok()) return lists_error;
    std::vector<agent::PackageUpgrade> upgrades;
    for (const auto& [name, version] : installed) {
      const auto it = available.find(name);
      if (it == available.end() || it->second <= version || held.count(name) > 0) continue;
      if (scope == agent::UpgradeScope::kSecurity && security.count(name) == 0) continue;
      upgrades.push_back({name, version, it->second});
    }
    return upgrades;
  }

  absl::StatusOr<agent::PackagePreview> Preview(
      const agent::PackageTransaction& transaction) override {
    absl::MutexLock lock(&mutex_);
    agent::PackagePreview preview;
    preview.has_lists = has_lists;
    if (!has_lists) return preview;
    for (const std::string& item : transaction.install) {
      const std::string name = item.substr(0, item.find('='));
      const auto it = available.find(name);
      if (it == available.end())
        return absl::NotFoundError(absl::StrCat("package '", name, "' does not exist"));
      preview.versions[name] = name == item ? it->second : item.substr(name.size() + 1);
      for (const std::string& other : dependencies[name]) preview.versions[other] = "1";
    }
    preview.removed = transaction.remove;
    for (const std::string& name : transaction.remove)
      preview.removed.insert(preview.removed.end(), dependents[name].begin(),
                             dependents[name].end());
    preview.bytes = preview.versions.size() * archive_bytes;
    return preview;
  }

  // Compares texts: good enough for "1.0" and "1.1".
  absl::StatusOr<bool> IsOlder(const std::string& a, const std::string& b) override {
    return a < b;
  }

  absl::Status Update(absl::Duration max_age, const agent::PackageObserver& observer) override {
    absl::MutexLock lock(&mutex_);
    // Any lists will do.
    if (max_age == absl::InfiniteDuration() && has_lists && update_error.ok())
      return absl::OkStatus();
    log_.push_back("update");
    if (update_error.ok()) lists_error = absl::OkStatus();
    return update_error;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::testing
