// The addresses by which the network knows this machine.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

struct ProbeContext;

// The MAC addresses of its Ethernet interfaces, bridges and bonds included.
absl::StatusOr<std::vector<std::string>> EthernetAddresses(const ProbeContext& context);

}  // namespace muster::agent
