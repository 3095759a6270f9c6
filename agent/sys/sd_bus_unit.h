// What systemd says of a unit, by sd-bus. Unavailable: the connection is lost.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "agent/sys/sd_bus.h"
#include "agent/sys/unit_manager.h"

namespace muster::agent {

absl::StatusOr<UnitStatus> ReadStatus(sd_bus* bus, const std::string& unit);
// Whether it counts as started before its program has reported anything.
absl::StatusOr<bool> IsOnlyLaunched(sd_bus* bus, const std::string& unit);
// Whether systemd has something to do with it yet.
absl::StatusOr<bool> HasJob(sd_bus* bus, const std::string& unit);

}  // namespace muster::agent
