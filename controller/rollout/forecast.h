// What a rollout finds and how long it takes, before it begins.
#pragma once

#include "absl/status/statusor.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/observation.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller {
class Store;
}

namespace muster::controller::rollout {

// `view` is that of the rollout by what was seen, jobs of all its nodes included. Reads the store,
// for how long earlier updates took; the estimate takes seconds of CPU for ten thousand nodes.
// Leaves the cluster's name empty.
absl::StatusOr<v1::PreviewRolloutResponse> ForecastOf(Store& store, const ActiveRollout& rollout,
                                                      const Observation& seen,
                                                      const RolloutView& view);

}  // namespace muster::controller::rollout
