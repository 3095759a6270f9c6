// The agent's subcommands. Each returns the program's exit status.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

struct Flags;

// The exit status of a command that has ended so, after a line on standard error if it failed.
int ExitStatus(absl::string_view command, const absl::Status& end);

// Runs until SIGTERM or SIGINT. REQUIRES: no other thread is running yet.
int RunCommand(const Flags& flags);
int JoinCommand(const Flags& flags);
int JoinBootCommand(const Flags& flags);
// Prints its findings; 1 when something is wrong.
int CheckCommand(const Flags& flags);
// Prints what is wrong with the node by the agent's last report; see agent/health/local_report.h.
int HealthCommand(const Flags& flags);
// Writes the facts of the root that it runs in, whose system is not running, to standard output.
int ImageFactsCommand(const Flags& flags);
// Runs a plan in that root. REQUIRES: no other thread is running yet.
int ImageApplyCommand(const Flags& flags);
// Makes a root fit for everybody; see agent/image/seal.h.
int ImageSealCommand(const Flags& flags);
// Writes the image that this machine has booted from the network to its disk; see
// agent/disk/installer.h.
int DiskInstallCommand(const Flags& flags);
// Tells the controller of a machine that is no node, until it has been adopted; see
// agent/discovery/discovery.h.
int DiscoverCommand();
// Keeps the root that was booted from the disk, or reboots; see agent/disk/settler.h.
int DiskSettleCommand(const Flags& flags);
// Carries out the order to exchange the agent, if there is one.
int UpgradeCommand(const Flags& flags);

}  // namespace muster::agent
