// What a controller says at once to those who watch something that may be quiet for long.
#pragma once

namespace muster {

// Initial metadata of a watching call. Its absence tells nothing: gRPC has none, too, where there
// is no connection.
inline constexpr char kWatchingHeader[] = "muster-watching";

}  // namespace muster
