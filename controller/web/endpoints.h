// What the page may ask for.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::controller {

struct HttpRequest;
struct WebCollaborators;

// A path, the call that its answer is, and whoever makes the call: the service itself, in this
// process. Who may ask is what the authorization table says of the call.
struct Endpoint {
  absl::string_view path;  // "/api/node"
  absl::string_view rpc;   // "/muster.v1.NodeService/GetNode"
  absl::StatusOr<std::string> (*answer)(const WebCollaborators& with, const HttpRequest& request);
};
absl::Span<const Endpoint> Endpoints();

}  // namespace muster::controller
