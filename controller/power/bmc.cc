#include "controller/power/bmc.h"

namespace muster::controller::power {

absl::string_view PowerStateName(PowerState state) {
  constexpr absl::string_view kNames[] = {"unknown", "off", "on"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace muster::controller::power
