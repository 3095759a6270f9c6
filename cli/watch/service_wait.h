// The service state in Slurm of a validation's nodes, once the gate has acted on its end.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster {
class Clock;
}

namespace muster::v1 {
class Validation;
}

namespace muster::cli {

// The end of a validation wakes the gate, which has the answer of Slurm a second or two later if
// Slurm answers.
inline constexpr absl::Duration kServiceWait = absl::Seconds(5);
inline constexpr absl::Duration kServiceInterval = absl::Milliseconds(400);

// Takes the services of its nodes into `finished` from `get`, which fetches the same validation
// from the controller: as soon as the gate has caught up, or in its present state after
// kServiceWait or when `stop` says so. Blocks. What cannot be fetched stays as it is.
void TakeServices(Clock& clock, const std::function<absl::StatusOr<v1::Validation>()>& get,
                  const std::function<bool()>& stop, v1::Validation& finished);

}  // namespace muster::cli
