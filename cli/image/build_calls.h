// What a build asks the controller for.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/image/definition.h"
#include "muster/v1/image.pb.h"

namespace muster::v1 {
class Facts;
}

namespace muster::cli {

class Connection;

// Reads images/<name>/image.yaml in the site's folder. NotFound: there is none, with the names that
// there are.
absl::StatusOr<image::Definition> ReadDefinition(const std::string& site, const std::string& name);

// See ImageService.PlanImage; `facts` may be nullptr.
absl::StatusOr<v1::PlanImageResponse> PlanImage(const Connection& connection,
                                                const std::string& bundle_sha256,
                                                const std::string& name, const v1::Facts* facts);

// Writes the package of the agent to `path`. DataLoss: it does not have the digest.
absl::Status ReadAgentPackage(const Connection& connection, const std::string& sha256,
                              const std::string& path);

// "admin:alice", by the connection's certificate; "" where it says nothing that can be read.
std::string PersonOf(const Connection& connection);

}  // namespace muster::cli
