// Metadata of calls between command lines and the controller.
#pragma once

namespace muster {

// The verb for which the command line makes a call, "node remove". For messages only: any client
// can claim any verb.
inline constexpr char kVerbMetadata[] = "muster-verb";

// Initial metadata that the controller sends at once on a watching call, because what is watched
// may be quiet for a long time. Its absence proves nothing: gRPC has no initial metadata without a
// connection either.
inline constexpr char kWatchingHeader[] = "muster-watching";

}  // namespace muster
