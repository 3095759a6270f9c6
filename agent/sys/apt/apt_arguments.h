// Command lines of apt-get and dpkg. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/sys/package_manager.h"

namespace muster::agent {

// InvalidArgument for what apt-get takes for more than a name: a pattern, a task ("standard^"), or
// a package to remove ("munge-").
absl::Status CheckAptName(const std::string& name);

// apt-get, unattended: keep changed configuration files, ask nothing, wait for the lock, ask failed
// servers again.
std::vector<std::string> AptGet(const std::vector<std::string>& arguments);

// The environment of every apt-get and dpkg that changes packages: they ask nothing, and
// needrestart restarts nothing, because that is for the playbook to do.
std::map<std::string, std::string> AptEnvironment();

// `changes_held`: the transaction names packages that are on hold.
std::vector<std::string> AptGetTransaction(const PackageTransaction& transaction,
                                           bool changes_held);

// The same, only simulated: prints "Inst" and "Remv" lines; takes no lock.
std::vector<std::string> AptGetSimulation(const PackageTransaction& transaction, bool changes_held);
// The same for newer versions of all packages. None is removed, and packages on hold stay.
std::vector<std::string> AptGetUpgradeSimulation();

// Completes packages that lack dependencies; fails where it would have to remove some instead.
std::vector<std::string> AptGetFixBroken();

// Configures the packages that an interrupted dpkg left unpacked.
std::vector<std::string> DpkgConfigureAll();

}  // namespace muster::agent
