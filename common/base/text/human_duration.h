// Times in words.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster {

// "7s", "3m 10s", "3h 10m", "2d 04h": two units at most, the rest cut off.
std::string HumanDuration(absl::Duration duration);

}  // namespace muster
