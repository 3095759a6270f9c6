// The options of commands that bootstrap machines over ssh.
#pragma once

namespace CLI {
class App;
}

namespace muster::cli {

struct BootstrapOptions;

// Adds --user, --ssh-config and --parallel; $MUSTER_SSH_CONFIG becomes the default. `options` must
// outlive the command.
void AddSshOptions(CLI::App& command, BootstrapOptions& options);

}  // namespace muster::cli
