// What agent and controller both have to know of how checks are run.
#pragma once

#include <cstddef>

namespace muster::checks {

// So many checks run on a node at the same time; its agent refuses more.
inline constexpr size_t kMaxChecksAtOnce = 8;

}  // namespace muster::checks
