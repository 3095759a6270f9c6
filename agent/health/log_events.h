// From lines of the kernel's log to conditions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "agent/health/condition_board.h"
#include "common/health/xid.h"

namespace muster::agent::health {

// What a site says about Xids, where it differs from the table.
using XidActions = std::map<int, muster::health::XidAction>;

// The event that a line reports, which was logged at `at`; nullopt: none. `gpu_at` gives the uuid
// of the GPU whose PCI address begins so, "" if it is not known. Pure.
std::optional<Event> ReadEvent(absl::string_view text, absl::Time at, const XidActions& actions,
                               const std::function<std::string(absl::string_view slot)>& gpu_at);

// How grave the evidence of an event is among those about the same GPU, by what it asks for: to
// reset the GPU is milder than to boot the machine. 0: it asks for nothing. Pure.
int GravityOf(absl::string_view evidence);

// The driver could not take a card while it was being loaded, or when the card was plugged in.
bool IsFailedCard(absl::string_view text);
// The GPUs' driver was loaded anew, which resets the GPUs: what it logged before is over.
bool IsDriverStart(absl::string_view text);
// The conditions that this ends.
absl::Span<const absl::string_view> ConditionsOfDriver();

// The device whose file system the kernel has just mounted or unmounted, "sda1"; "": the line says
// neither. A mount or unmount ends the read-only state of the file system.
std::string MountedDevice(absl::string_view text);
// The condition that this ends for the device.
inline constexpr absl::string_view kConditionOfMount = "disk_readonly";

}  // namespace muster::agent::health
