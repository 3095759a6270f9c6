// systemd's units, in our own terms.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::agent {

// systemd's own words for each state; see systemctl(1).
struct UnitStatus {
  std::string load_state;       // "loaded", "not-found", "masked", "bad-setting", "error"
  std::string active_state;     // "active", "inactive", "failed", "activating", …
  std::string sub_state;        // "running", "exited", "dead", …
  std::string unit_file_state;  // "enabled", "disabled", "static", "masked", …; "" without a file
  bool need_daemon_reload = false;  // its files changed, or were added, after systemd read them
  // Known only for a unit that is not active.
  bool ends_by_itself = false;  // a oneshot without RemainAfterExit=: never stays active
  bool ended_well = false;      // such a unit has run, as far as systemd still remembers
  bool conditions_held = true;  // at the last attempt to start it
};

enum class UnitJob { kStart, kStop, kRestart, kReloadOrRestart };

// Units are named with their suffix: "munge.service". All calls block. Thread-safe.
class UnitManager {
 public:
  virtual ~UnitManager() = default;
  // A unit that does not exist has load_state "not-found"; that is not an error.
  virtual absl::StatusOr<UnitStatus> GetStatus(const std::string& unit) = 0;
  // The names of all units that have failed.
  virtual absl::StatusOr<std::vector<std::string>> ListFailed() = 0;
  // Returns when systemd has finished the job, not when it queued it. NotFound without such a unit;
  // the error of a failed job contains the unit's last journal lines.
  virtual absl::Status Run(UnitJob job, const std::string& unit) = 0;
  // Sets whether it starts at boot.
  virtual absl::Status SetEnabled(const std::string& unit, bool enabled) = 0;
  // Sets whether it cannot be started at all.
  virtual absl::Status SetMasked(const std::string& unit, bool masked) = 0;
  // Makes systemd read all unit files again.
  virtual absl::Status DaemonReload() = 0;
  // Begins an orderly reboot, which no later job can take back, and returns at once.
  virtual absl::Status StartReboot() = 0;
};

}  // namespace muster::agent
