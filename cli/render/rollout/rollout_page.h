// A rollout as one standalone page: what happened to each node when, and where it stands.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::v1 {
class Rollout;
}

namespace muster::cli {

// `rollout` has its events; `now` ends the bars of what is still going on.
std::string RenderRolloutPage(const v1::Rollout& rollout, absl::Time now, absl::TimeZone zone);

}  // namespace muster::cli
