// Units through systemd's D-Bus interface.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/sys/unit_manager.h"
#include "common/sys/process/process.h"

namespace muster {
class Clock;
}

namespace muster::agent {

// Longer than any sane TimeoutStartSec: systemd itself ends a job that takes too long.
inline constexpr absl::Duration kUnitJobTimeout = absl::Minutes(15);

// How long systemd may be unreachable: while it re-executes itself, and while the machine shuts
// down, when nothing has failed and the end of this process is near.
inline constexpr absl::Duration kConnectPatience = absl::Seconds(20);

// Opens a connection for each call, and another one where systemd drops it meanwhile; as root it
// talks to systemd directly and needs no dbus-daemon. Thread-safe.
class SdBusUnitManager final : public UnitManager {
 public:
  // `processes` runs journalctl for error messages. `address`: a D-Bus address for tests; empty:
  // the node's systemd.
  SdBusUnitManager(sys::ProcessRunner& processes, Clock& clock, std::string address = "",
                   absl::Duration job_timeout = kUnitJobTimeout);

  absl::StatusOr<UnitStatus> GetStatus(const std::string& unit) override;
  absl::StatusOr<std::vector<std::string>> ListFailed() override;
  absl::Status Run(UnitJob job, const std::string& unit) override;
  absl::Status SetEnabled(const std::string& unit, bool enabled) override;
  absl::Status SetMasked(const std::string& unit, bool masked) override;
  absl::Status DaemonReload() override;
  absl::Status StartReboot() override;

 private:
  // "; the end of its journal:" and its last lines since then, or that there are none.
  std::string JournalOf(const std::string& unit, absl::Time since);

  sys::ProcessRunner& processes_;
  Clock& clock_;
  const std::string address_;
  const absl::Duration job_timeout_;
};

}  // namespace muster::agent
