// The commented controller.yaml that `muster init` writes.
#pragma once

#include <string>

namespace muster::cli {

// `port` is the main listener's; the enrollment listener takes the next one.
std::string ControllerYaml(const std::string& cluster, const std::string& host, int port,
                           const std::string& directory);

}  // namespace muster::cli
