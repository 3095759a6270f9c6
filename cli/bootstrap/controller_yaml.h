// The commented controller.yaml that `muster init` writes.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::cli {

// Whether the main listener can have this port and the enrollment listener the next one: no other
// listener of the file has them.
absl::Status CheckControllerPort(int port);

// `port` is the main listener's; the enrollment listener takes the next one.
std::string ControllerYaml(const std::string& cluster, const std::string& host, int port,
                           const std::string& directory);

}  // namespace muster::cli
