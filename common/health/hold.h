// Conditions that outlast their cause.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::health {

// How long a condition lasts after the last sign of it; infinite: until the next boot. nullopt: it
// ends when somebody looks and finds nothing wrong. Those that have a hold may be cleared by an
// operator who knows that the cause is gone.
std::optional<absl::Duration> HoldOf(absl::string_view condition);

}  // namespace muster::health
