// The arithmetic of the ring all-reduce: which rank sends which part when, and the right result.
//
// The data is cut into as many chunks as there are ranks. In n − 1 steps each chunk goes around and
// is added up (reduce-scatter), in n − 1 more the sums go around (all-gather): Patarasuk and Yuan,
// "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009). Each rank
// sends and receives 2(n − 1)/n of the data, which is the minimum for any algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/checks/scaling.h"

namespace muster::burnin {

struct RingStep {
  int send_chunk = 0;
  int receive_chunk = 0;
  bool reduce = true;  // false: the received data replaces the present data
};

inline int RingSteps(int ranks) { return 2 * (ranks - 1); }
// The chunk sent in a step is the one received in the step before. REQUIRES: 0 <= rank < ranks, 0
// <= step < RingSteps(ranks).
RingStep StepOf(int rank, int ranks, int step);

// Half-open, in elements.
struct ElementRange {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
};
// Part `index` of `parts` almost equal ones.
ElementRange PartOf(size_t elements, int parts, int index);

// Values whose sum over all ranks is exact in a float, in any order: whole numbers below 4096, of
// at most kMaxRanks ranks, stay below 2^24. Neighboring ranks and elements differ.
class RingData {
 public:
  static constexpr int kMaxRanks = checks::kMaxRanks;

  // REQUIRES: 0 <= rank < ranks <= kMaxRanks.
  RingData(int rank, int ranks);

  // Fills in the data that this rank contributes.
  void Fill(absl::Span<float> data) const;

  struct Mismatch {
    size_t element = 0;
    float found = 0;
    float expected = 0;
  };
  // The number of elements of `data` that are not the sum over all ranks, and the first of them.
  size_t Verify(absl::Span<const float> data, size_t keep, std::vector<Mismatch>& first) const;

 private:
  std::vector<float> own_;  // repeated with a prime period: a chunk in a wrong place shows
  std::vector<float> sums_;
};

}  // namespace muster::burnin
