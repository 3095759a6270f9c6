// gRPC's log messages, in the controller's log and in plain words.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::controller {

// Sends gRPC's log lines to LogWarning() and the like from now on, and discards those of Protocol
// Buffers. Call once, after StartLog().
void RouteGrpcLog();

// The meaning of a line of gRPC's log to an administrator; the line itself where that is not known.
std::string ReadableGrpcLine(absl::string_view line);

}  // namespace muster::controller
