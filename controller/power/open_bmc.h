// The BMC that an inventory describes.
#pragma once

#include <memory>

#include "controller/inventory/bmc_access.h"
#include "controller/power/bmc.h"
#include "controller/secret/secret_buffer.h"

namespace muster {
class Clock;
}

namespace muster::controller::power {

// Speaks to no BMC yet. `clock` must outlive the object.
std::unique_ptr<Bmc> OpenBmc(const BmcAccess& access, SecretBuffer password, Cancelled cancelled,
                             Clock& clock);

}  // namespace muster::controller::power
