#include "cli/bootstrap/ssh_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/bootstrap/bootstrap.h"

namespace muster::cli {

void AddSshOptions(CLI::App& command, BootstrapOptions& options) {
  if (const char* config = std::getenv("MUSTER_SSH_CONFIG")) options.ssh_config = config;
  command
      .add_option("--user", options.user,
                  "Account on the machines (default root; others use sudo -n)")
      ->type_name("USER");
  command
      .add_option("--ssh-config", options.ssh_config,
                  "File for ssh -F (default: $MUSTER_SSH_CONFIG, else ssh's own)")
      ->type_name("FILE");
  command.add_option("--parallel", options.parallel, "Machines at a time (default 32)")
      ->check(CLI::Range(1, 512))
      ->type_name("COUNT");
}

}  // namespace muster::cli
