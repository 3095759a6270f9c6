// The agent's fixed numbers, in one place.
#pragma once

#include "absl/time/time.h"

namespace muster::agent {

inline constexpr char kDefaultStateDirectory[] = "/var/lib/muster";

// How often the main thread looks at the others, pings the watchdog and renews the status line.
inline constexpr absl::Duration kSupervisionInterval = absl::Seconds(2);
// A thread that has shown no sign of life for this long hangs: the watchdog is no longer pinged,
// and systemd restarts the agent. Longer than every wait of a healthy thread (a renewal call, a
// slow disk).
inline constexpr absl::Duration kThreadPatience = absl::Seconds(60);
// After SIGTERM the running steps have this long to end; then their intents stay in the journal.
inline constexpr absl::Duration kStopPatience = absl::Seconds(20);

}  // namespace muster::agent
