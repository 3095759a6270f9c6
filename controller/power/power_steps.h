// What is done to one machine, step by step, until its BMC says that it is so.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/power/bmc.h"

namespace muster {
class Clock;
}

namespace muster::controller::power {

enum class PowerVerb { kStatus, kOn, kOff, kCycle, kReset, kIdentify, kEndIdentify };
absl::string_view PowerVerbName(PowerVerb verb);  // "on", "identify", "identify --off"
// Off, cycle and reset: what runs on the machine dies.
bool IsDisruptive(PowerVerb verb);
// On, cycle and reset: the machine boots.
bool BootsMachine(PowerVerb verb);

struct PowerOrder {
  PowerVerb verb = PowerVerb::kStatus;
  bool is_soft = false;  // off and cycle ask the operating system
  BootDevice boot = BootDevice::kDefault;
};

struct PowerOutcome {
  absl::Status status;                      // the message has the reason and the remedy
  PowerState state = PowerState::kUnknown;  // as last seen
  std::string note;                         // for people: "it was on already"; often empty
};

// How long a BMC may take to do what it has taken on.
struct PowerPatience {
  absl::Duration change = absl::Seconds(30);
  // In addition, for a machine that a cycle has ordered off and that its BMC still calls on.
  absl::Duration late_cycle = absl::Minutes(2);
  absl::Duration soft = absl::Minutes(5);  // an operating system that ends
  // The same in a cycle: a machine that ends later stays off.
  absl::Duration soft_cycle = absl::Minutes(15);
  absl::Duration look = absl::Seconds(1);     // between two questions
  absl::Duration off = absl::Seconds(5);      // in a cycle, for what is charged
  absl::Duration hurried = absl::Seconds(8);  // instead, for either half of a cycle in a hurry
};

// What the steps need of those who order them.
struct PowerSurroundings {
  Clock& clock;
  // Blocks until the machine may be switched on. An error: it never may, or nobody wants it any
  // more; never for a machine that was on before, `in_cycle`.
  std::function<absl::Status(bool in_cycle)> await_turn;
  // The machine is off.
  std::function<void()> on_off;
  // The BMC has taken an order: "asked to switch off".
  std::function<void(absl::string_view)> on_asked;
  // The controller is stopping: no wait for machines, except in a cycle that has switched off.
  Cancelled is_hurried;
};

// Blocks. The boot device is set before anything is done to the machine, and once more right before
// a cycle switches it on, because BMCs forget it after a minute. A BMC that takes an order and does
// not carry it out is FailedPrecondition, one that then no longer says how its machine is,
// Unavailable. A cycle that has switched off always tries to switch on, for as long as a change may
// take.
PowerOutcome CarryOut(Bmc& bmc, const PowerOrder& order, const PowerPatience& patience,
                      const PowerSurroundings& around);

}  // namespace muster::controller::power
