// What the page may change.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

struct Actor;
struct WebCollaborators;

// A path, the call that it makes, and whoever carries it out: the service itself, in this process.
// The authorization table says who may make the call, and the call writes the audit log.
struct Action {
  absl::string_view path;  // "/api/node/drain"
  absl::string_view rpc;   // "/muster.v1.NodeService/DrainNodes"
  // The answer as `muster -o json` shows it.
  absl::StatusOr<std::string> (*act)(const WebCollaborators& with, const Actor& actor,
                                     const nlohmann::json& fields);
};
// nullptr: there is none of that path.
const Action* FindAction(absl::string_view path);

// The fields of a body, an object whose values are short texts and numbers. InvalidArgument: it is
// anything else.
absl::StatusOr<nlohmann::json> ReadFields(absl::string_view body);

}  // namespace muster::controller
