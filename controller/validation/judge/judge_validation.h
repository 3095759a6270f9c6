// Judges checks: each by itself when its result comes, and all of a validation together at its
// end. These are the only places where verdicts are made. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/validation/judge/comparisons.h"
#include "controller/validation/judge/history.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/suite/found_hardware.h"
#include "controller/validation/suite/suite.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// The verdict on a result by itself: by the limits of its hardware, by what the node measured
// earlier, and by what it had when `check`, of the suite, was chosen for it. `history` may be
// nullptr. The caller sets the verdict's stage and partner.
v1::CheckVerdict JudgeResult(const Measurement& measurement, const SuiteCheck& check,
                             const History* history);

// A node of a validation that has ended.
struct EndedNode {
  std::string name;
  std::string uuid;  // empty: it was not enrolled
  bool is_witness = false;
  // nullopt: it did not say.
  std::optional<FoundHardware> at_start, at_end;
};

// A check that has ended. All pointees must outlive its use.
struct EndedCheck {
  const CheckPart* part = nullptr;  // the same as of its ComparedCheck
  // nullptr: not known any more; then the check is not compared.
  const SuiteCheck* check = nullptr;
  std::string stage;
  v1::CheckVerdict verdict;  // by itself, with stage and partner
};

struct EndedValidation {
  std::string suite;  // its name
  std::vector<EndedNode> nodes;
  // False: it was cancelled; then nothing passes.
  bool complete = true;
};

struct ValidationVerdicts {
  std::vector<v1::NodeVerdict> nodes;  // in the order of EndedValidation::nodes
  // What is to blame for slow pairs, and what rings reached beside their pairs.
  v1::Validation blames;
  // Checks whose outcome in comparison differs from their outcome by themselves: results that
  // failed there are not a reference for later ones.
  std::vector<std::pair<const CheckPart*, v1::Outcome>> rejudged;
  // Nodes under test.
  int passed = 0, failed = 0, unknown = 0;
};

// `checks` may be in any order; `comparisons` is used up.
ValidationVerdicts JudgeValidation(const EndedValidation& ended, std::vector<EndedCheck> checks,
                                   Comparisons& comparisons);

// The words of one are those of the other.
PartOutcome ToPartOutcome(v1::Outcome outcome);
v1::Outcome ToOutcome(PartOutcome outcome);

// Keeps kMaxPassedPairs verdicts of pairs that passed: a node of a large cluster has hundreds,
// which would make a response too large for a message. All their results are kept.
inline constexpr int kMaxPassedPairs = 64;
void LeaveOutPassedPairs(v1::NodeVerdict& node);

}  // namespace muster::controller::validation
