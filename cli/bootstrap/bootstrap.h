// muster node bootstrap: installs the agent on many machines at once, over ssh.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/context.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::cli {

struct BootstrapOptions {
  std::string nodes;  // host list, group or glob
  std::string user = "root";
  std::string ssh_config;  // for ssh -F; empty: ssh's own
  int parallel = 32;
};

// One machine: the address that ssh connects to and the script that it runs there.
struct BootstrapTarget {
  std::string node, address, script;
};

// Called from the workers' threads, one call at a time.
class BootstrapObserver {
 public:
  virtual ~BootstrapObserver() = default;
  // "fetching the agent".
  virtual void OnStep(const std::string& node, const std::string& step) = 0;
  virtual void OnDone(const std::string& node, const absl::Status& status) = 0;
};

// Runs every target, `parallel` at a time; one that fails or hangs holds up nobody. The result has
// an entry for each: OK, or the reason why not ("ssh: connect to host … No route to host").
std::map<std::string, absl::Status> BootstrapAll(const std::vector<BootstrapTarget>& targets,
                                                 const BootstrapOptions& options,
                                                 sys::ProcessRunner& processes,
                                                 BootstrapObserver& observer);

// Carries out the verb: tokens, scripts, BootstrapAll, and waiting until the agents have connected.
absl::StatusOr<int> Bootstrap(Context& context, const BootstrapOptions& options);

}  // namespace muster::cli
