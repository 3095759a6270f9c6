// What Redfish services answer, checked before anything uses it. Pure.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/power/bmc.h"

namespace muster::controller::power {

// The largest answer that is read.
inline constexpr size_t kMaxRedfishAnswer = 1 << 20;

// How a system's light is switched.
enum class RedfishLight { kNone, kLocationIndicator, kIndicatorLed };

// The boot device for one boot, as an object of a service describes it.
struct RedfishBoot {
  bool is_described = false;  // it says something of how the machine boots
  bool can_override = false;  // and of a device for one boot
  bool has_mode = false;      // UEFI or Legacy
  std::string etag;           // of the whole object; "": it has none that could be a header
};

// A machine, as its BMC describes it.
struct RedfishSystem {
  PowerState state = PowerState::kUnknown;  // what is neither on nor off is unknown
  std::string reset_path;                   // of the action ComputerSystem.Reset; "": it has none
  // The resets that it names; empty: it names none, and any may be tried.
  std::set<std::string> reset_types;
  RedfishLight light = RedfishLight::kNone;
  RedfishBoot boot;
  std::string settings_path;  // of the object that takes later settings; "": there is none
};

// Whether text is a path on the service that answered: what a BMC names is asked from that BMC.
bool IsRedfishPath(absl::string_view path);

// The path of the collection of systems that a service's root names. FailedPrecondition: the text
// is no root.
absl::StatusOr<std::string> ParseRedfishRoot(absl::string_view body);

// The path of the one system of a collection, or of the one with this id. FailedPrecondition: there
// is none, or there are several and `id` is empty; the message names them.
absl::StatusOr<std::string> ParseRedfishSystems(absl::string_view body, absl::string_view id);

// FailedPrecondition: the text is not a description of a system.
absl::StatusOr<RedfishSystem> ParseRedfishSystem(absl::string_view body);

// What an object says of the boot device; the default where it says nothing, or is none.
RedfishBoot ParseRedfishBoot(absl::string_view body);

// The message of an error that the service explains, one line of plain text; "": it does not.
std::string ParseRedfishError(absl::string_view body);

}  // namespace muster::controller::power
