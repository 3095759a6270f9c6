// The options that `muster apply` and `muster plan` share.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/v1/run.pb.h"

namespace CLI {
class App;
}

namespace muster::cli {

// What to run, and where.
struct RunOptions {
  std::string playbook, limit;
  std::vector<std::string> tags, extra_vars;
  bool diff = false, reboot_with_jobs = false;
};

// Adds --limit and --tags. `options` must outlive the command.
void AddSelectionOptions(CLI::App& command, RunOptions& options);
// Adds --extra-vars; `options` likewise.
void AddExtraVarsOption(CLI::App& command, RunOptions& options);

// The request for such a run, without the playbook and its bundle. InvalidArgument: a variable is
// not of the form name=value.
absl::StatusOr<v1::CreateRunRequest> RequestFor(const RunOptions& options);

// Adds "name=value" to the request: JSON where the value parses as JSON, text otherwise.
absl::Status AddExtraVar(const std::string& assignment, v1::CreateRunRequest& request);

}  // namespace muster::cli
