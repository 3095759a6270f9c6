// The syntax of names, addresses and Slurm times in an inventory.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::controller {

// Each returns "" when the text is well formed, otherwise a description of the fault, worded to
// follow the place in an error.
std::string CheckDnsLabel(absl::string_view what, absl::string_view text);
std::string CheckDomain(absl::string_view text);
std::string CheckName(absl::string_view what, absl::string_view text);  // groups, racks, switches
std::string CheckVariableName(absl::string_view text);
std::string CheckAddress(absl::string_view text);  // IPv4, IPv6 or a host name
std::string CheckMac(absl::string_view text);
std::string CheckPlaybookPath(absl::string_view text);  // of a playbook in a site
std::string CheckSlurmTime(absl::string_view text);

}  // namespace muster::controller
