// What `muster node remove` and `muster node replace` have in common: the way of machines out of
// the cluster.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/context.h"
#include "cli/render/questions.h"
#include "muster/v1/node.pb.h"

namespace CLI {
class App;
}

namespace muster::cli {

class Connection;

struct DrainOptions {
  std::string drain_timeout;  // empty: without end
  bool force = false;

  absl::StatusOr<absl::Duration> Timeout() const;
};

// Adds --drain-timeout and --force. `options` must outlive the command.
void AddDrainOptions(CLI::App& command, DrainOptions& options);

// Those of `names` that the controller knows, in their present state.
absl::StatusOr<std::vector<v1::Node>> KnownNodes(const Connection& connection,
                                                 const std::vector<std::string>& names);

// Whether a machine has the name now.
bool IsMember(const v1::Node& node);

// RemovalQuestion() with the cluster and the jobs of this moment, and the answer.
absl::Status AskAboutNodes(const Connection& connection, const std::string& question,
                           const std::vector<v1::Node>& nodes, JobsOnNodes fate,
                           absl::string_view otherwise);

// Ends the memberships, rejects machines that wait under these names, and revokes open tokens.
absl::StatusOr<v1::RemoveNodeResponse> EndMembership(const Connection& connection,
                                                     const std::vector<std::string>& names,
                                                     const std::string& reason);

}  // namespace muster::cli
