// The password of a BMC.
#pragma once

#include "absl/status/statusor.h"
#include "controller/inventory/bmc_access.h"
#include "controller/secret/secret_buffer.h"

namespace muster::controller {
class SecretSource;
}

namespace muster::controller::power {

// Read as the role "power", so that an inventory can send no other secret to an address. Errors
// name the secret.
absl::StatusOr<SecretBuffer> ReadBmcPassword(SecretSource& secrets, const BmcAccess& access);

}  // namespace muster::controller::power
