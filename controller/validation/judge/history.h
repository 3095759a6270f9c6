// Compares a result with what the same node measured earlier. Pure.
#pragma once

#include <functional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/validation/judge/measurement.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// Asks for earlier values of one metric of one part of a node, newest first; only from results that
// passed, with equal parameters and circumstances (circumstances.h).
struct EarlierQuery {
  absl::string_view node, check, metric, variant, subject, parameters_digest, circumstances;
  // True: asks for the first values instead, which the node began with: a part that loses a little
  // each time is always close to its last values.
  bool first = false;
};

// An earlier result that passed.
struct EarlierPass {
  const v1::CheckResult* result = nullptr;  // nullptr: none; valid until the next is asked for
  absl::Time reported_at;
};

// Both may block on the store.
struct History {
  std::function<std::vector<double>(const EarlierQuery&)> values;
  // The newest pass of the same check on the same node.
  std::function<EarlierPass(const Measurement&)> newest;
};

// Adds a finding for each value that is worse than the node's earlier ones and, where a check found
// fewer GPUs than expected, names those that the newest pass saw, with uuid, slot and serial.
void JudgeHistory(const Measurement& measurement, const History& history,
                  v1::CheckVerdict& verdict);

}  // namespace muster::controller::validation
