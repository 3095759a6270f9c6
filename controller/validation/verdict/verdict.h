// Judges checks: compares what they measured with what the hardware has to reach, with their peers,
// and with their own earlier values. Pure.
//
// JudgeCheck() judges one result by itself, when it arrives. When all nodes have reported,
// JudgeFleet() and JudgeDigests() add what only shows in comparison. Every finding has the value,
// the limit, and the source of the limit.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/checks/catalog.h"
#include "controller/validation/verdict/hardware_class.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// The number of findings that a verdict keeps; worse ones are kept first.
inline constexpr int kMaxFindings = 100;

// The expectations that a node is judged against. Default: nothing is known.
struct Expectation {
  HardwareClass hardware;
  const HardwareModel* gpu = nullptr;  // must outlive the object; nullptr: no file knows it
  const HardwareModel* nic = nullptr;
};
Expectation MakeExpectation(HardwareClass hardware, const HardwareLibrary& library);
// The expectation of a node in a pair: the slower of two Ethernet ports limits both. Ports that
// cannot be compared or are not known have no floor.
Expectation OfPair(const Expectation& own, const Expectation& partner);

// The limit that no GPU of the node may exceed: the lower of the inventory's and the model file's.
std::optional<SourcedValue> TemperatureLimitOf(const Expectation& expectation);

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

// One result among others. All pointees must outlive the call.
struct JudgedResult {
  absl::string_view node;
  absl::string_view stage;
  const checks::CheckSpec* spec = nullptr;
  const v1::CheckResult* result = nullptr;
  const Expectation* expectation = nullptr;
  v1::CheckVerdict* verdict = nullptr;  // as JudgeCheck() made it; findings are added
  absl::string_view parameters_digest;  // see circumstances.h
};

// Asks for earlier values of one metric of one part of a node, newest first; only from results that
// passed, with equal parameters and circumstances (circumstances.h).
struct EarlierQuery {
  absl::string_view node, check, metric, variant, subject, parameters_digest, circumstances;
  // True: asks for the first values instead, which the node began with: a part that loses a little
  // each time is always close to its last values.
  bool first = false;
};
using EarlierValues = std::function<std::vector<double>(const EarlierQuery&)>;

// GPUs of one model, VBIOS, driver and power limit are one population, ports of one name and model
// another, and so are nodes of one hardware class that names the machine or its GPUs, provided that
// the same engines measured with the same parameters; each needs statistics.h's kMinPeers. Compares
// rates and temperatures of checks on single nodes: counts are judged by their ceilings, pairs by
// blame.h. `earlier` may be nullptr.
void JudgeFleet(absl::Span<const JudgedResult> results, const EarlierValues& earlier);

// Digests of one name on GPUs of one model must be equal: to the model's golden one where its file
// has it, otherwise to that of more than half of the GPUs. Without a majority (two GPUs that
// differ) it cannot be told which is wrong: all are unknown.
void JudgeDigests(absl::Span<const JudgedResult> results);

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

// Internal to the files of verdict_*.cc: adds a finding and lets it affect the outcome.
void AddFinding(v1::Finding finding, v1::CheckVerdict* verdict);

}  // namespace muster::controller::validation
