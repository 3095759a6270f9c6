// How the nodes of a validation that has ended stand in Slurm, once the gate has acted on it.
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

// The gate is woken by the end, and has asked Slurm a second or two later if Slurm answers.
inline constexpr absl::Duration kServiceWait = absl::Seconds(5);
inline constexpr absl::Duration kServiceInterval = absl::Milliseconds(400);

// Takes into `finished` how its nodes stand by `get`, the same validation as the controller has it
// then: when the gate is not behind any more, or as it is after kServiceWait or when `stop` says
// so. Blocks. What cannot be had stays as it is.
void TakeServices(Clock& clock, const std::function<absl::StatusOr<v1::Validation>()>& get,
                  const std::function<bool()>& stop, v1::Validation& finished);

}  // namespace muster::cli
