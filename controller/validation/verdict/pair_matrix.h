// Converts the reports of both sides of pairs to a PairMatrix, and blame back to their verdicts.
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
  // The total bandwidth of its switch's uplinks, one way; 0: not known.
  double uplink_gbits_per_s = 0;
};

// One side of a pair.
struct PairResult {
  absl::string_view node;
  absl::string_view partner;
  const checks::CheckSpec* spec = nullptr;
  const v1::CheckResult* result = nullptr;    // nullptr: no result came
  const v1::CheckVerdict* verdict = nullptr;  // of this side by itself; nullptr: no limit is known
  absl::string_view round;                    // equal rounds were measured at the same time
};

// Whether a check of pairs measures TCP, which collective operations run over.
bool MeasuresTcp(const checks::CheckSpec& spec);

// The rates of one check of pairs (those in Gbit/s whose names begin with "receive", "send",
// "write_receive" and "write_send"; if two measured the same direction, the receiver's counts), and
// what `others`, results of checks on single nodes, say about their ports: faults of NICs, and
// counts of "crc" errors. A verdict that fails by the rate of one direction marks that direction as
// bad, and one that fails by another value that both sides share in marks both. Leaves out results
// of nodes that are not in `nodes`.
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

// A pair that fails by its rates, times, retransmits or path MTU shows that one of its sides, or
// something between them, is bad. Where blame knows which, the other side is not responsible: its
// verdict becomes unknown and excused, with the reason. A fault that a node's worker saw on this
// very node, a counter of its port or a missing value stays its failure, whoever is blamed. A
// blamed node gets a finding in one of its verdicts: a fail, whatever the floors say. Where it
// cannot be told which of the two it is, both sides become unknown, with the remedy. A pair that is
// only as slow as the capacity of an uplink makes it becomes unknown and excused.
void ApplyBlame(const PairMatrix& matrix, const std::vector<Blame>& blames,
                absl::Span<const PairVerdict> verdicts);

}  // namespace muster::controller::validation
