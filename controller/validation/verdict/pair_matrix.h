// Converts the reports of both sides of pairs to a PairMatrix, and blame back to their verdicts.
// Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "controller/validation/verdict/blame.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {

// A node that took part in a validation.
struct MatrixNode {
  std::string name;
  std::string switch_name;
  double speed_gbits_per_s = 0;  // of its Ethernet port; 0: not known
  // The total bandwidth of its switch's uplinks, one way; 0: not known.
  double uplink_gbits_per_s = 0;
  // RDMA ports of one name are meant to be equally fast on nodes where this is equal. Empty: not
  // known.
  std::string rdma_peers = "";
  // The ports that run at this speed; empty: not given.
  std::vector<std::string> interfaces = {};
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

// What results say about the ports of nodes: faults of NICs, and counts of "crc" errors.
class PortFaults {
 public:
  void Add(const std::string& node, const v1::CheckResult& result);
  // Adds what `others` has.
  void Add(const PortFaults& others);
  // nullptr: none.
  const std::vector<PortEvidence>* Of(const std::string& node) const;

 private:
  PortEvidence& PortOf(const std::string& node, const std::string& interface);

  absl::flat_hash_map<std::string, std::vector<PortEvidence>> nodes_;
};

// Makes the matrix of one check of pairs from results as they come. Takes the rates in Gbit/s whose
// names begin with "receive", "send", "write_receive" and "write_send"; if two measured the same
// direction, the receiver's counts. A verdict that fails by the rate of one direction marks that
// direction as bad, and one that fails by another value that both sides share in marks both. Leaves
// out results of nodes that are not in `nodes`, and what exceeds the number of ports that a pair
// can measure. Not thread-safe.
//
// The speed of a port of TCP is the inventory's; where that is not known, or of another port, the
// one in the node's result. That of an RDMA port is the one in the results of most of its peers, so
// that a link that came up too slow is compared with those that did not; without peers, the one in
// its own.
class PairMatrixMaker {
 public:
  // `nodes` must outlive the object.
  explicit PairMatrixMaker(const std::vector<MatrixNode>& nodes);
  ~PairMatrixMaker();
  PairMatrixMaker(PairMatrixMaker&&) noexcept;

  void Add(const PairResult& pair);
  // `others`: what checks on single nodes said about their ports. Call once, last.
  PairMatrix Finish(const PortFaults& others);

 private:
  class Rates;
  std::unique_ptr<Rates> rates_;
};

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
