// The BMC that an inventory describes.
#pragma once

#include <memory>

#include "controller/inventory/bmc_access.h"
#include "controller/power/bmc.h"
#include "controller/secret/secret_buffer.h"

namespace muster::controller::power {

// Speaks to no BMC yet.
std::unique_ptr<Bmc> OpenBmc(const BmcAccess& access, SecretBuffer password, Cancelled cancelled);

}  // namespace muster::controller::power
