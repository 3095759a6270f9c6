// What the end of a validation compares, collected as results come. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "controller/validation/judge/digest_comparison.h"
#include "controller/validation/judge/fleet_comparison.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/verdict/pair_matrix.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// The place of a check in its suite: its stage, and its index in that. A suite may contain a check
// twice, with different parameters.
using CheckPlace = std::pair<size_t, size_t>;
CheckPlace PlaceOf(const CheckPart& part);

// A check that has ended with a result. The part must outlive the comparisons, the other pointees
// the call.
struct ComparedCheck {
  const CheckPart* part = nullptr;
  absl::string_view stage;
  const SuiteCheck* check = nullptr;
  absl::string_view parameters_digest;  // see circumstances.h
  const Expectation* expectation = nullptr;
  const v1::CheckVerdict* verdict = nullptr;  // on the result by itself
  const v1::CheckResult* result = nullptr;
};

// Keeps of each result what its comparisons need, which is far less than the result. Not
// thread-safe.
class Comparisons {
 public:
  explicit Comparisons(std::vector<MatrixNode> nodes);
  Comparisons(const Comparisons&) = delete;
  Comparisons& operator=(const Comparisons&) = delete;

  void Add(const ComparedCheck& ended);
  // A side of a pair that ended without a result: it counts among those that loaded an uplink.
  void AddLostSide(const CheckPart& part, const checks::CheckSpec& spec);

  // Whether the part was added with a result.
  bool Has(const CheckPart* part) const { return known_.contains(part); }
  // What fleets and digests show.
  std::vector<std::pair<const CheckPart*, v1::Finding>> Findings() const;
  // Of each check of pairs. Call once, last.
  std::map<CheckPlace, PairMatrix> TakeMatrices();
  // Of a check of a group, without its curves; nullptr: none came.
  const v1::CheckResult* GroupResult(const CheckPart* part) const;

 private:
  PairMatrixMaker& MakerOf(const CheckPart& part);

  const std::vector<MatrixNode> nodes_;
  std::vector<const CheckPart*> parts_;  // by the numbers that the comparisons use
  absl::flat_hash_set<const CheckPart*> known_;
  FleetComparison fleet_;
  DigestComparison digests_;
  PortFaults port_faults_;  // from checks that are not of pairs
  std::map<CheckPlace, PairMatrixMaker> pairs_;
  absl::flat_hash_map<const CheckPart*, std::unique_ptr<v1::CheckResult>> groups_;
};

}  // namespace muster::controller::validation
