// The BMC that an inventory describes.
#pragma once

#include <memory>
#include <string>

#include "controller/inventory/bmc_access.h"
#include "controller/power/bmc.h"

namespace muster::controller::power {

// Speaks to no BMC yet.
std::unique_ptr<Bmc> OpenBmc(const BmcAccess& access, std::string password, Cancelled cancelled);

}  // namespace muster::controller::power
