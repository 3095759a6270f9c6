// The agent's fixed numbers, in one place.
#pragma once

#include "absl/time/time.h"

namespace muster::agent {

inline constexpr char kDefaultStateDirectory[] = "/var/lib/muster";
inline constexpr char kServiceUnit[] = "muster-agent.service";

// How often the main thread looks at the others, pings the watchdog and renews the status line.
inline constexpr absl::Duration kSupervisionInterval = absl::Seconds(2);
// A thread that has not shown itself for so long hangs: the watchdog is no longer pinged, and
// systemd restarts the agent. Above every wait that a healthy thread makes (a renewal call, a
// slow disk).
inline constexpr absl::Duration kThreadPatience = absl::Seconds(60);
// On SIGTERM the running steps may end for so long; then their intents in the journal do.
inline constexpr absl::Duration kStopPatience = absl::Seconds(20);

}  // namespace muster::agent
