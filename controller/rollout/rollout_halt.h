// Rollouts that must not go on by themselves.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {
class Store;
}

namespace muster::controller::rollout {

// Lets no open rollout of the store go on before somebody says so: one that rolls or soaks is
// paused, and one that is being rolled back is aborted, as its end would begin another rollout. Of
// a paused one, active nodes would continue: those that only drain go back, and those whose update
// or test has begun have failed and stay out of Slurm, which does not count when the rollout is
// resumed. `when`: "when the restored backup was made". Returns how many are open. No manager may
// work on the store.
absl::StatusOr<uint64_t> HaltOpen(Store& store, absl::string_view when, absl::Time now);

}  // namespace muster::controller::rollout
