#include "common/base/text/slurm_state.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"

namespace muster {
namespace {

using Words = absl::Span<const absl::string_view>;

constexpr absl::string_view kDrained[] = {"DRAIN", "DRAINED", "DRAINING"};
constexpr absl::string_view kOut[] = {"DOWN",    "FAIL",   "FAILING",
                                      "UNKNOWN", "FUTURE", "INVALID_REG"};
constexpr absl::string_view kPowerSaved[] = {"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN",
                                             "POWERING_UP", "POWER_UP"};
// In Slurm's words a node without power that has a job is powered up for it.
constexpr absl::string_view kPoweringUp[] = {"POWERED_DOWN", "POWERING_UP", "POWER_UP"};
constexpr absl::string_view kWithJobs[] = {"ALLOCATED", "MIXED"};

bool HasOneOf(absl::string_view state, Words words) {
  for (absl::string_view word : absl::StrSplit(state, '+')) {
    // "*": does not answer; others: powered down, in a reservation, …
    while (!word.empty() && !absl::ascii_isalpha(word.back())) word.remove_suffix(1);
    if (std::find(words.begin(), words.end(), word) != words.end()) return true;
  }
  return false;
}

}  // namespace

// "*" after any part of the state, or a word in some versions.
bool IsSilentInSlurm(absl::string_view state) {
  return absl::StrContains(state, '*') || absl::StrContains(state, "NOT_RESPONDING");
}

bool IsDownInSlurm(absl::string_view state) { return absl::StartsWith(state, "DOWN"); }

bool IsDrainedInSlurm(absl::string_view state) { return HasOneOf(state, kDrained); }

bool IsOutInSlurm(absl::string_view state) { return HasOneOf(state, kOut); }

bool IsPowerSavedInSlurm(absl::string_view state) { return HasOneOf(state, kPowerSaved); }

bool IsPoweringUpForJobInSlurm(absl::string_view state) {
  return HasOneOf(state, kWithJobs) && HasOneOf(state, kPoweringUp);
}

}  // namespace muster
