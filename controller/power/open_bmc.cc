#include "controller/power/open_bmc.h"

#include <utility>

#include "controller/power/ipmi_bmc.h"
#include "controller/power/redfish/redfish_bmc.h"

namespace muster::controller::power {

std::unique_ptr<Bmc> OpenBmc(const BmcAccess& access, SecretBuffer password, Cancelled cancelled,
                             Clock& clock) {
  if (access.protocol == BmcProtocol::kIpmi)
    return std::make_unique<IpmiBmc>(access, std::move(password), clock);
  return std::make_unique<RedfishBmc>(access, std::move(password), std::move(cancelled));
}

}  // namespace muster::controller::power
