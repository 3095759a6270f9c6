// The variables of an inventory that the controller itself reads, and misspelled names.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::controller {

// The names of docs/inventory.md. Whatever else is read, roles read.
const std::vector<std::string>& OwnVariables();

// The one of `known` that `name` was to be, or "". Stricter than other words of the kind: names of
// variables are much alike (firewall_ssh_port, firewall_ssh_ports), and a site has its own.
std::string NearestVariable(absl::string_view name, const std::vector<std::string>& known);

}  // namespace muster::controller
