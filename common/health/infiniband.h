// Error counters of InfiniBand ports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/string_view.h"

namespace muster::health {

// A counter in /sys/class/infiniband/…/counters that tells of a bad link. In the port it has 16 or
// 8 bits (PortCounters, InfiniBand Architecture Specification), and stops at its maximum.
struct PortCounter {
  absl::string_view name;
  int64_t maximum;
};
inline constexpr PortCounter kPortCounters[] = {
    {"symbol_error", 0xffff}, {"link_error_recovery", 0xff}, {"link_downed", 0xff}};

// Whether the counter with this value counts no more errors. False for other counters.
inline bool HasStopped(absl::string_view name, int64_t value) {
  return std::any_of(std::begin(kPortCounters), std::end(kPortCounters), [&](const auto& counter) {
    return counter.name == name && value >= counter.maximum;
  });
}

}  // namespace muster::health
