// The exchange of the agent's program or of musterd, by the version that is to be replaced.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/upgrade/upgrade_place.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class ProcessRunner;
}

namespace muster::agent {

class UnitManager;

// The controller must have welcomed the new agent, and the new musterd the agent of its own
// machine, within this time of their start. It has as long as an agent waits at most between two
// attempts, several times over.
inline constexpr absl::Duration kUpgradePatience = absl::Minutes(3);

// Carries out the order of `place`: installs the packages, restarts the service and waits until it
// is up in the new version; otherwise puts the previous files, and the state, back and restarts
// that. It is a process of its own, the previous program, so that neither a new program that does
// not start nor the end of the agent is in its way. After a crash at any point it is run again and
// continues. OK: the new version runs, the previous one runs again, or there was no order. An
// error: the exchange could be neither finished nor taken back.
absl::Status Upgrade(const UpgradePlace& place, sys::FileSystem& files,
                     sys::ProcessRunner& processes, UnitManager& units, Clock& clock);

}  // namespace muster::agent
