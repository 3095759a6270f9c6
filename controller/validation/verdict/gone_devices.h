// Which GPUs are gone, where some are missing. Pure.
#pragma once

#include <functional>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {

// A result that passed.
struct EarlierPass {
  const v1::CheckResult* result = nullptr;  // nullptr: there is none; lives until the next is asked
  absl::Time reported_at;
};
// The newest of the same check on the same node.
using NewestPass = std::function<EarlierPass(const JudgedResult& judged)>;

// A check that found fewer GPUs than expected knows only how many are missing; those of the newest
// pass that it does not see are named, with uuid, slot and serial.
void JudgeGoneDevices(absl::Span<const JudgedResult> results, const NewestPass& newest);

}  // namespace muster::controller::validation
