// The protocol between agents and the controller, as a number.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster {

// To be raised with a release whose agent or controller needs something of the other that the
// release before does not have.
inline constexpr uint32_t kProtocol = 1;

// Whether this controller works with an agent: one of its own protocol, or of the one before, so
// that agents can be exchanged after the controller. FailedPrecondition with the remedy otherwise.
absl::Status CheckProtocol(uint32_t protocol, absl::string_view agent_version);

}  // namespace muster
