// gRPC's own complaints, in the controller's log and in words.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::controller {

// From here on gRPC's log lines go to LogWarning() and the like, and those of Protocol Buffers
// nowhere. Call once, after StartLog().
void RouteGrpcLog();

// What a line of gRPC means to an administrator; the line itself where that is not known.
std::string ReadableGrpcLine(absl::string_view line);

}  // namespace muster::controller
