// From what the two sides of pairs reported to a PairMatrix, and from blame back to their verdicts.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "controller/validation/verdict/blame.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {

// A node that took part in a validation.
struct MatrixNode {
  std::string name;
  std::string switch_name;
  double speed_gbits_per_s = 0;  // 0: not known
  // What the uplinks of its switch carry together, one way; 0: not known.
  double uplink_gbits_per_s = 0;
};

// One side of a pair.
struct PairResult {
  absl::string_view node;
  absl::string_view partner;
  const checks::CheckSpec* spec = nullptr;
  const v1::CheckResult* result = nullptr;    // nullptr: none came
  const v1::CheckVerdict* verdict = nullptr;  // by itself; nullptr: no limit is known
  absl::string_view round;                    // equal ones were measured at the same time
};

// Whether a check of pairs measures TCP, as what runs over it does.
bool MeasuresTcp(const checks::CheckSpec& spec);

// The rates of one check of pairs (those in Gbit/s whose names begin with "receive", "send",
// "write_receive" and "write_send"; of two that measured the same direction the receiver counts),
// and what `others`, results of checks
// of the nodes by themselves, say of their ports: faults of NICs, and counts of "crc" errors.
// A verdict that fails by a rate of one direction makes this one bad, and both where it fails by
// another value that both sides share in.
// Results of nodes that are not in `nodes` are left out.
struct NodeResultRef {
  absl::string_view node;
  const v1::CheckResult* result = nullptr;
};
PairMatrix MakePairMatrix(const std::vector<MatrixNode>& nodes, absl::Span<const PairResult> pairs,
                          absl::Span<const NodeResultRef> others);

// One side of a pair with its verdict.
struct PairVerdict {
  absl::string_view node;
  absl::string_view partner;
  v1::CheckVerdict* verdict = nullptr;
};

// A pair that failed by its rates, times, retransmits or path MTU says that one of its sides, or
// what is between them, is bad. Where blame knows which, the other side has nothing to answer for:
// its verdict becomes unknown and excused, with the reason. A fault that a node's worker saw on
// this very node, a counter of its port or a missing value stays its fail, whoever is blamed. Who
// is blamed gets a finding in one of its verdicts: a fail, whatever the floors say. Where nobody
// can tell which of the two it is, both sides are unknown, with the remedy. What is as slow as the
// capacity of an uplink makes it is unknown and excused.
void ApplyBlame(const PairMatrix& matrix, const std::vector<Blame>& blames,
                absl::Span<const PairVerdict> verdicts);

}  // namespace muster::controller::validation
