// The constants of musterd, with their reasons.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace muster::controller {

// The largest message of the main listener: an inventory of thousands of nodes with its variables.
inline constexpr int kMaxMessageBytes = 16 * 1024 * 1024;
// The enrollment listener talks to strangers, who send a CSR and a few names.
inline constexpr int kMaxEnrollmentMessageBytes = 32 * 1024;
inline constexpr size_t kEnrollmentMemoryBytes = 64 * 1024 * 1024;
inline constexpr int kEnrollmentThreads = 16;

// 10,000 idle sessions take some hundred MiB in gRPC; above this limit it slows senders down.
inline constexpr size_t kMemoryBytes = size_t{2} * 1024 * 1024 * 1024;
// Threads for people's calls; agents need none.
inline constexpr int kThreads = 128;
inline constexpr int kMaxStreamsPerConnection = 100;

// Memory that each connection holds as long as it lives, idle or not: a buffer for a TLS record,
// one for the next read (it grows with the data), a table of repeated headers. Agents' messages are
// small and their headers few; with gRPC's defaults a session takes 20 kB more. What has no setting
// is in connection_buffers.cc.
inline constexpr int kMaxTlsFrameBytes = 4 * 1024;
inline constexpr int kReadChunkBytes = 1024;
// gRPC puts this before the bytes of a slice, in the same allocation.
inline constexpr int kSliceHeaderBytes = 40;
// The most that the buffer grows to; it shrinks by a hundredth with each read, so an idle session
// would keep the one of its facts and reports for half an hour. With its header it just fits into
// 4 KiB. gRPC heeds it where main() has switched off its fixed pieces of 8 and 64 KiB.
inline constexpr int kMaxReadChunkBytes = 4 * 1024 - kSliceHeaderBytes;
inline constexpr int kHeaderTableBytes = 512;

// A peer that loses power does not close its connection: gRPC pings it after this silence and then
// gives up.
inline constexpr absl::Duration kKeepaliveTime = absl::Seconds(30);
inline constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(15);
// The command line pings every 10 s, and so did agents of earlier versions. This is half of that,
// because gRPC counts pings that the network bunched together and closes the connection of an idle
// peer at the third.
inline constexpr absl::Duration kMinPingInterval = absl::Seconds(5);

// A connection that has not authenticated by then only costs a descriptor.
inline constexpr absl::Duration kHandshakeTimeout = absl::Seconds(10);

// Applies to connections without a call: agents have their stream, people connect for one call.
// Without it, a peer that answers pings keeps its descriptor for good.
inline constexpr absl::Duration kIdleTimeout = absl::Seconds(5);
// The enrollment listener closes connections whatever they are doing, because strangers can leave a
// call half sent. A joining machine makes short calls and reconnects by itself.
inline constexpr absl::Duration kEnrollmentConnectionAge = absl::Seconds(5);
inline constexpr absl::Duration kEnrollmentConnectionGrace = absl::Seconds(5);

// How long calls may continue after SIGTERM.
inline constexpr absl::Duration kShutdownGrace = absl::Seconds(5);

}  // namespace muster::controller
