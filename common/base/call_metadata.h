// What command lines and the controller say of a call in its metadata.
#pragma once

namespace muster {

// The verb that a call is made for, "node remove", by the command line. For messages alone: anybody
// can say anything.
inline constexpr char kVerbMetadata[] = "muster-verb";

// Initial metadata of a watching call, which the controller sends at once: what is watched may be
// quiet for long. Its absence tells nothing: gRPC has none, too, where there is no connection.
inline constexpr char kWatchingHeader[] = "muster-watching";

}  // namespace muster
