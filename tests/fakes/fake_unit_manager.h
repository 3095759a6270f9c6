// Units that change state as under systemd.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/sys/unit_manager.h"

namespace muster::testing {

// Thread-safe, except for `units`, which the test fills before.
class FakeUnitManager final : public agent::UnitManager {
 public:
  struct Unit {
    agent::UnitStatus status = {.load_state = "loaded",
                                .active_state = "inactive",
                                .sub_state = "dead",
                                .unit_file_state = "disabled"};
    absl::Status job_error = {};  // of every job
    bool has_only_also = false;   // its [Install] section: enabling it changes only others
  };
  std::map<std::string, Unit> units;

  // The calls, in order: "start munge.service", "daemon-reload".
  std::vector<std::string> log() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }

  absl::StatusOr<agent::UnitStatus> GetStatus(const std::string& unit) override {
    absl::MutexLock lock(&mutex_);
    const auto it = units.find(unit);
    if (it == units.end())
      return agent::UnitStatus{
          .load_state = "not-found", .active_state = "inactive", .sub_state = "dead"};
    return it->second.status;
  }

  absl::StatusOr<std::vector<std::string>> ListFailed() override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> failed;
    for (const auto& [name, unit] : units)
      if (unit.status.active_state == "failed") failed.push_back(name);
    return failed;
  }

  absl::Status Run(agent::UnitJob job, const std::string& unit) override {
    static const char* const kWords[] = {"start ", "stop ", "restart ", "reload "};
    absl::MutexLock lock(&mutex_);
    log_.push_back(absl::StrCat(kWords[static_cast<int>(job)], unit));
    const auto it = units.find(unit);
    if (it == units.end()) return absl::NotFoundError(absl::StrCat("no unit ", unit));
    if (!it->second.job_error.ok()) return it->second.job_error;
    if (it->second.status.load_state == "masked" && job != agent::UnitJob::kStop)
      return absl::FailedPreconditionError(absl::StrCat(unit, " is masked"));
    const agent::UnitStatus& status = it->second.status;
    const bool ends =
        job == agent::UnitJob::kStop || status.ends_by_itself || !status.conditions_held;
    it->second.status.active_state = ends ? "inactive" : "active";
    it->second.status.sub_state = ends ? "dead" : "running";
    return absl::OkStatus();
  }

  absl::Status SetEnabled(const std::string& unit, bool enabled) override {
    absl::MutexLock lock(&mutex_);
    log_.push_back(absl::StrCat(enabled ? "enable " : "disable ", unit));
    if (!units[unit].has_only_also)
      units[unit].status.unit_file_state = enabled ? "enabled" : "disabled";
    return absl::OkStatus();
  }

  absl::Status SetMasked(const std::string& unit, bool masked) override {
    absl::MutexLock lock(&mutex_);
    log_.push_back(absl::StrCat(masked ? "mask " : "unmask ", unit));
    units[unit].status.load_state = masked ? "masked" : "loaded";
    units[unit].status.unit_file_state = masked ? "masked" : "disabled";
    return absl::OkStatus();
  }

  absl::Status DaemonReload() override {
    absl::MutexLock lock(&mutex_);
    log_.push_back("daemon-reload");
    for (auto& [name, unit] : units) unit.status.need_daemon_reload = false;
    return absl::OkStatus();
  }

  absl::Status StartReboot() override {
    absl::MutexLock lock(&mutex_);
    log_.push_back("reboot");
    return absl::OkStatus();
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::testing
