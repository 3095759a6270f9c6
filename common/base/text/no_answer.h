// Probes of facts without an answer, as agents report them and the controller reads them.
#pragma once

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace muster {

// Begins the reason of an unknown fact whose probe took too long: "no answer in 5s". Any other
// reason is an answer: the probe has failed, and the node is not as it was.
inline constexpr absl::string_view kNoAnswer = "no answer in ";

// Whether that probe took too long. `Facts` is v1::Facts, also below.
template <typename Facts>
bool TookTooLong(const Facts& facts, absl::string_view probe) {
  for (const auto& unknown : facts.unknown())
    if (unknown.probe() == probe && absl::StartsWith(unknown.reason(), kNoAnswer)) return true;
  return false;
}

// Whether the GPUs are missing because their probe took too long; one that failed has found a
// change.
template <typename Facts>
bool LacksGpus(const Facts& facts) {
  return facts.gpus().empty() && facts.nvidia_driver_version().empty() &&
         TookTooLong(facts, "gpus");
}

}  // namespace muster
