// Judges a check by what the hardware has to reach, and a node by its checks. Pure. What shows in
// comparison is added by controller/validation/judge. Every finding has the value, the limit, and
// the source of the limit.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/checks/catalog.h"
#include "controller/validation/verdict/expectation.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// The check whose ports are RDMA ports, which an Ethernet port need not be.
inline constexpr absl::string_view kRdmaPair = "rdma-pair";

// The number of findings that a verdict keeps; worse ones are kept first.
inline constexpr int kMaxFindings = 100;

// The worse of two: fail, unknown, pass, skipped, unspecified.
v1::Outcome Worse(v1::Outcome a, v1::Outcome b);

// Judges the result by itself. If the worker could not tell (unknown), only what it did report
// counts. A metric or a device that is expected but missing is a fail, and so is a check that was
// skipped for lack of hardware that is expected. `parameters` are those that the suite gave: a
// check of some `gpus` need not see all of them. The caller sets the verdict's stage and partner.
v1::CheckVerdict JudgeCheck(const v1::CheckResult& result, const checks::CheckSpec& spec,
                            const Expectation& expectation,
                            const std::map<std::string, std::string>& parameters);
// The verdict on a check without a result.
v1::CheckVerdict VerdictWithoutResult(absl::string_view check, v1::Outcome outcome,
                                      absl::string_view reason);

// How many pairs of a check a node must have passed for its excused ones not to count. One pair
// drives its port, both ways, as fast as the floor demands; the cause of slow pairs is then
// elsewhere.
inline constexpr size_t kMinGoodPairs = 1;

// The combined outcome of a node's checks. Skipped checks do not count. Of the pairs of a check,
// those with pass or fail count, because a lost partner says nothing about this node, unless more
// pairs are unknown than passed. Excused verdicts count neither way on a node with enough good
// pairs, those of a group with pairs of any check; otherwise they are unknown. `complete`: false
// when the validation was cancelled; then nothing passes.
v1::Outcome OutcomeOf(absl::Span<const v1::CheckVerdict* const> verdicts, bool complete);

// Adds a finding and lets it affect the outcome.
void AddFinding(v1::Finding finding, v1::CheckVerdict* verdict);

}  // namespace muster::controller::validation
