// Error counters of InfiniBand ports.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace muster::health {

// Where a counter of /sys/class/infiniband/…/counters, of 16 or 8 bits in the port (PortCounters),
// stops. nullopt: not one of those that tell of a bad link.
inline std::optional<int64_t> MaximumOfPortCounter(absl::string_view name) {
  if (name == "symbol_error") return 0xffff;
  if (name == "link_error_recovery" || name == "link_downed") return 0xff;
  return std::nullopt;
}

}  // namespace muster::health
