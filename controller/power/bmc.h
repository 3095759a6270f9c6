// The management controller of one machine, whatever its protocol.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller::power {

enum class PowerState { kUnknown, kOff, kOn };
absl::string_view PowerStateName(PowerState state);  // "unknown", "off", "on"

enum class PowerChange {
  kOn,
  kOff,      // at once, as by pulling the plug
  kSoftOff,  // asks the operating system
  kReset,    // at once
};

enum class BootDevice { kDefault, kPxe, kDisk, kBios };

// Every call blocks, for 20 seconds at most unless the resolver hangs. A BMC's words are hostile
// input: they are bounded and checked before they are used, and appear in errors as plain text.
// Errors name no secret. Unavailable: no answer; try again. Unauthenticated: wrong user or
// password. FailedPrecondition: the BMC refuses, or is not what the inventory says; the message has
// the remedy. Cancelled. One thread.
class Bmc {
 public:
  virtual ~Bmc() = default;
  virtual absl::StatusOr<PowerState> State() = 0;
  // OK means that the BMC has taken the order, not that it has been carried out.
  virtual absl::Status Change(PowerChange change) = 0;
  // For the next boot alone.
  virtual absl::Status BootOnce(BootDevice device) = 0;
  // Switches the light that shows where the machine stands.
  virtual absl::Status Identify(bool is_on) = 0;
};

// Asked at least once a second; true ends a call.
using Cancelled = std::function<bool()>;

}  // namespace muster::controller::power
