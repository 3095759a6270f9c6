// A machine in memory for tests of the engine: resources that change it, and faults.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/resources/resource.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {

// Steps mean: file = state[path] is content; package = every name is in state; command = runs once
// more each time ("always", for handlers); unit = runs when state[name] is "active", and counts its
// restarts as those of a command of that name; reboot = requested by /run/reboot-required in the
// state, or always. Thread-safe.
class FakeMachine {
 public:
  // The factory of resources, in the engine's form.
  absl::StatusOr<std::unique_ptr<Resource>> Make(const v1::Step& step);

  std::map<std::string, std::string> state() const {
    absl::MutexLock lock(&mutex_);
    return state_;
  }
  int CommandRuns(const std::string& name) const {
    absl::MutexLock lock(&mutex_);
    const auto it = command_runs_.find(name);
    return it == command_runs_.end() ? 0 : it->second;
  }
  void Set(const std::string& key, const std::string& value) {
    absl::MutexLock lock(&mutex_);
    state_[key] = value;
  }

  void Remove(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    state_.erase(key);
  }

  // Called when a step has begun a reboot.
  std::function<void()> on_reboot;
  std::atomic<int> reboots{0};
  std::string boot_id = "boot-1";

  // Faults, by Id(): set before the plan runs.
  std::map<std::string, absl::Status> check_errors;
  std::map<std::string, absl::Status> apply_errors;
  std::set<std::string> never_converge;
  // Called in Apply(), by Id(); may block.
  std::map<std::string, std::function<void(ApplyObserver&)>> during_apply;
  // FailedPrecondition from Check() of Id() until state has the key.
  std::map<std::string, std::string> requires_key;

  // The power cut: every act counts; the act of this number and all later ones do nothing.
  std::atomic<int> deeds{0};
  std::atomic<int> dies_at{1 << 30};
  // Counts one act; false: the machine is dead.
  bool Deed() { return deeds.fetch_add(1) < dies_at.load(); }
  bool dead() const { return deeds.load() > dies_at.load(); }

  std::atomic<int> applies{0};
  std::atomic<int> transactions{0};
  std::atomic<int> transactions_now{0};
  std::atomic<int> repositories_now{0};
  std::atomic<bool> repository_met_packages{false};  // one changed while packages did
  std::atomic<int> checks{0};

 private:
  friend class FakeFile;
  friend class FakePackage;
  friend class FakeRepository;
  friend class FakeCommand;
  friend class FakeUnit;

  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> state_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> command_runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
