// What the results of steps have in common.
#pragma once

#include "muster/v1/plan.pb.h"

namespace muster {

// The step left its node as it was: the usual result, which nobody needs to be told one by one.
inline bool IsUnchanged(v1::StepStatus status) {
  return status == v1::STEP_STATUS_OK || status == v1::STEP_STATUS_SKIPPED;
}

}  // namespace muster
