#include "common/base/text/slurm_state.h"

#include "absl/strings/match.h"

namespace muster {

// "*" after any part of the state, or a word in some versions.
bool IsSilentInSlurm(absl::string_view state) {
  return absl::StrContains(state, '*') || absl::StrContains(state, "NOT_RESPONDING");
}

bool IsDownInSlurm(absl::string_view state) { return absl::StartsWith(state, "DOWN"); }

}  // namespace muster
