// What is said of a check: what it measured against what the hardware has to reach, against its
// peers, and against what it was itself. Pure.
//
// JudgeCheck() judges one result by itself, as it comes. When all nodes have been heard,
// JudgeFleet() and JudgeDigests() add what only shows beside the others. Every finding has the
// value, the limit, and where the limit comes from.
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

// Findings that a verdict keeps; worse ones are kept first.
inline constexpr int kMaxFindings = 100;

// Against what a node is judged. Default: nothing is known.
struct Expectation {
  HardwareClass hardware;
  const HardwareModel* gpu = nullptr;  // outlives it; nullptr: no file knows it
  const HardwareModel* nic = nullptr;
};
Expectation MakeExpectation(HardwareClass hardware, const HardwareLibrary& library);
// Of a node in a pair: the slower of two Ethernet ports is what both can reach. Ports that cannot
// be compared, or that are not known, lead to no floor.
Expectation OfPair(const Expectation& own, const Expectation& partner);

// Above which no GPU of the node may be: the lower of what the inventory and the model's file say.
std::optional<SourcedValue> TemperatureLimitOf(const Expectation& expectation);

// The worse of two: fail, unknown, pass, skipped, unspecified.
v1::Outcome Worse(v1::Outcome a, v1::Outcome b);

// The result by itself. Of a worker that could not tell (unknown) only what it did say counts. A
// metric or a device that is expected and missing is a fail, and so is a check that was skipped for
// want of hardware that is expected. `parameters` are those that the suite gave: a check of some
// `gpus` need not see all of them. stage and partner of the verdict are the caller's.
v1::CheckVerdict JudgeCheck(const v1::CheckResult& result, const checks::CheckSpec& spec,
                            const Expectation& expectation,
                            const std::map<std::string, std::string>& parameters);
// Of a check without a result.
v1::CheckVerdict VerdictWithoutResult(absl::string_view check, v1::Outcome outcome,
                                      absl::string_view reason);

// One result beside others. All outlive the call.
struct JudgedResult {
  absl::string_view node;
  absl::string_view stage;
  const checks::CheckSpec* spec = nullptr;
  const v1::CheckResult* result = nullptr;
  const Expectation* expectation = nullptr;
  v1::CheckVerdict* verdict = nullptr;  // as JudgeCheck() made it; findings are added
  absl::string_view parameters_digest;  // see circumstances.h
};

// Earlier values of one metric of one part of a node, newest first; results that passed alone, of
// equal parameters and circumstances (circumstances.h).
struct EarlierQuery {
  absl::string_view node, check, metric, variant, subject, parameters_digest, circumstances;
  // The first ones instead, with which the node began: who loses a little each time is always near
  // to what it was last.
  bool first = false;
};
using EarlierValues = std::function<std::vector<double>(const EarlierQuery&)>;

// GPUs of one model, VBIOS, driver and power limit are one population, ports of one name and model
// another, and so are nodes of one hardware class that names the machine or its GPUs, as long as
// the same engines measured by the same parameters; each needs statistics.h's kMinPeers. Rates and
// temperatures of checks of a node are compared: a count is judged by its ceiling, a pair by
// blame.h. `earlier` may be nullptr.
void JudgeFleet(absl::Span<const JudgedResult> results, const EarlierValues& earlier);

// Digests of one name on GPUs of one model must be equal: to the model's golden one where its file
// has it, otherwise to what more than half of the GPUs have. Without a majority (two GPUs that
// differ) nobody can say which is wrong: all are unknown.
void JudgeDigests(absl::Span<const JudgedResult> results);

// Pairs of a check that a node must have passed for its excused ones not to count. One pair drives
// its port, both ways, as fast as the floor asks; what the others lacked is then elsewhere.
inline constexpr size_t kMinGoodPairs = 1;

// What the checks of a node say together. A skipped check says nothing. Of the pairs of a check
// those count that say pass or fail, as a partner that is lost says nothing of this node, unless
// more pairs are unknown than passed. Excused verdicts count neither way on a node with enough good
// pairs, those of a group with pairs of whichever check; otherwise they are unknown. `complete`:
// false when the validation was cancelled; then nothing passes.
v1::Outcome OutcomeOf(absl::Span<const v1::CheckVerdict* const> verdicts, bool complete);

// Internal to the files of verdict_*.cc: adds a finding and makes it count.
void AddFinding(v1::Finding finding, v1::CheckVerdict* verdict);

}  // namespace muster::controller::validation
