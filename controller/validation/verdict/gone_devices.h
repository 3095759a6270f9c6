// Names the missing GPUs. Pure.
#pragma once

#include <functional>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {

// An earlier result that passed.
struct EarlierPass {
  const v1::CheckResult* result = nullptr;  // nullptr: none; valid until the next is asked for
  absl::Time reported_at;
};
// The newest one of the same check on the same node.
using NewestPass = std::function<EarlierPass(const JudgedResult& judged)>;

// A check that found fewer GPUs than expected knows only how many are missing; this names those
// that the newest pass saw and it does not, with uuid, slot and serial.
void JudgeGoneDevices(absl::Span<const JudgedResult> results, const NewestPass& newest);

}  // namespace muster::controller::validation
