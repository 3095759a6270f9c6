// The numbers of musterd, with their reasons.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace muster::controller {

// The largest message of the main listener: an inventory of thousands of nodes with its variables.
inline constexpr int kMaxMessageBytes = 16 * 1024 * 1024;
// The enrolment listener talks to strangers: a CSR and a few names.
inline constexpr int kMaxEnrollmentMessageBytes = 32 * 1024;
inline constexpr size_t kEnrollmentMemoryBytes = 64 * 1024 * 1024;
inline constexpr int kEnrollmentThreads = 16;

// 10,000 idle sessions take some hundred MiB in gRPC; above this it slows senders down.
inline constexpr size_t kMemoryBytes = size_t{2} * 1024 * 1024 * 1024;
// Threads for the calls of people; agents need none.
inline constexpr int kThreads = 128;
inline constexpr int kMaxStreamsPerConnection = 100;

// What each connection keeps as long as it lives, idle or not: a buffer for a TLS record, one for
// what is read next (it grows with what comes), a table of repeated headers. Agents' messages are
// small and their headers few; with gRPC's own sizes a session takes 20 kB more.
inline constexpr int kMaxTlsFrameBytes = 4 * 1024;
inline constexpr int kReadChunkBytes = 1024;
inline constexpr int kHeaderTableBytes = 512;

// A peer that lost power says no goodbye: gRPC asks after this silence and gives up.
inline constexpr absl::Duration kKeepaliveTime = absl::Seconds(30);
inline constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(15);
// Agents ask themselves every 10 s. Half of that, because gRPC counts pings that the network pushed
// together, and ends the connection of an idle agent at the third.
inline constexpr absl::Duration kMinPingInterval = absl::Seconds(5);

// A connection that has not proved by then who it is costs a descriptor for nothing.
inline constexpr absl::Duration kHandshakeTimeout = absl::Seconds(10);

// A connection without a call: agents have their stream, people come for one call. Without this a
// peer that answers pings keeps its descriptor for good.
inline constexpr absl::Duration kIdleTimeout = absl::Seconds(5);
// The enrolment listener's connections end whatever they do, for strangers can leave a call half
// said. A machine that joins makes short calls and comes again by itself.
inline constexpr absl::Duration kEnrollmentConnectionAge = absl::Seconds(5);
inline constexpr absl::Duration kEnrollmentConnectionGrace = absl::Seconds(5);

// How long calls may go on after SIGTERM.
inline constexpr absl::Duration kShutdownGrace = absl::Seconds(5);

}  // namespace muster::controller
