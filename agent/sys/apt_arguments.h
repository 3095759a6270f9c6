// What apt-get and dpkg are called with. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/sys/package_manager.h"

namespace muster::agent {

// apt-get, unattended: keep changed configuration files, ask nothing, wait for the lock, ask failed
// servers again.
std::vector<std::string> AptGet(const std::vector<std::string>& arguments);

// `changes_held`: the transaction names packages that are on hold.
std::vector<std::string> AptGetTransaction(const PackageTransaction& transaction,
                                           bool changes_held);

// Finishes what an interrupted dpkg left unpacked.
// The same, only looked at: "Inst" and "Remv" lines; takes no lock.
std::vector<std::string> AptGetSimulation(const PackageTransaction& transaction, bool changes_held);
std::vector<std::string> DpkgConfigureAll();

}  // namespace muster::agent
