// Which machines are containers.
#pragma once

#include "absl/strings/string_view.h"

namespace muster {

// Whether this is the name of a container in the output of systemd-detect-virt(1). A container has
// its host's kernel and shows its host's devices.
bool IsContainer(absl::string_view virtualization);

}  // namespace muster
