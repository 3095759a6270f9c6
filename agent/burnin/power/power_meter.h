// The power draw of the whole node, from its own power meter.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
class ProcessControl;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::burnin {

// Watts in the output of `ipmitool dcmi power reading`: lines of a key, a colon and a value, of
// which "Instantaneous power reading" counts (lib/ipmi_dcmi.c of ipmitool; DCMI specification 1.5,
// 6.6.1 "Get Power Reading"). nullopt: it has no reading, or 0, or says that the measurement is not
// active.
std::optional<double> ParseDcmiPower(absl::string_view output);
// Watts from power1_average of a hwmon device, which is in microwatts. nullopt: not such a number.
std::optional<double> ParseMicrowatts(absl::string_view text);

// Asks the meter that ACPI describes (the kernel's acpi_power_meter), otherwise the BMC by IPMI if
// there is a /dev/ipmi0. Not thread-safe.
class PowerMeter {
 public:
  PowerMeter(sys::FileSystem& files, sys::ProcessRunner& processes);

  // nullopt: there is no meter, or it did not answer. If ipmitool is missing, or the BMC does not
  // know the question, it is not asked again. May take seconds; `control` can end it.
  std::optional<double> Watts(sys::ProcessControl& control);

 private:
  sys::FileSystem& files_;
  sys::ProcessRunner& processes_;
  std::string acpi_file_;  // empty: there is none
  bool asks_bmc_ = false;
  int failures_ = 0;  // of the BMC, consecutive ones
};

}  // namespace muster::burnin
