// Traffic on a GPU's PCIe link while something is read.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace muster::burnin {

// Calls `read` while memory is copied to and from the GPU or, if that is not possible, without
// copies: the error then says why.
absl::Status UnderPcieLoad(const std::string& pci_address, const std::function<void()>& read);

}  // namespace muster::burnin
