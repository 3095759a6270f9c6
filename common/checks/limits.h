// Limits on running checks that the agent and the controller share.
#pragma once

#include <cstddef>

namespace muster::checks {

// The most checks that run on a node at the same time; its agent refuses more.
inline constexpr size_t kMaxChecksAtOnce = 8;

}  // namespace muster::checks
