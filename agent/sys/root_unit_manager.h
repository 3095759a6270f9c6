// Units of a root whose systemd is not running.
#pragma once

#include <string>
#include <vector>

#include "agent/sys/unit_manager.h"
#include "common/sys/process/process.h"

namespace muster::agent {

// Reads and changes unit files by systemctl, which needs no systemd for that. No unit runs there:
// each that has a file is inactive, and what would start, stop, reload or read one again is nothing
// to do. Thread-safe.
class RootUnitManager final : public UnitManager {
 public:
  explicit RootUnitManager(sys::ProcessRunner& processes) : processes_(processes) {}

  absl::StatusOr<UnitStatus> GetStatus(const std::string& unit) override;
  absl::StatusOr<std::vector<std::string>> ListFailed() override;
  absl::Status Run(UnitJob job, const std::string& unit) override;
  absl::Status SetEnabled(const std::string& unit, bool enabled) override;
  absl::Status SetMasked(const std::string& unit, bool masked) override;
  absl::Status DaemonReload() override;
  // FailedPrecondition: there is nothing that could reboot.
  absl::Status StartReboot() override;

 private:
  absl::StatusOr<sys::ProcessResult> Systemctl(const std::string& verb, const std::string& unit);
  absl::Status Change(const std::string& verb, const std::string& unit);

  sys::ProcessRunner& processes_;
};

}  // namespace muster::agent
