// The ring all-reduce as arithmetic: who sends which part when, and what must come out.
//
// The data is cut into as many chunks as there are ranks. In n − 1 steps each chunk goes around and
// is added up (reduce-scatter), in n − 1 more the sums go around (all-gather): Patarasuk and Yuan,
// "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009). Each rank
// sends and receives 2(n − 1)/n of the data, which no algorithm can do with less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace muster::burnin {

struct RingStep {
  int send_chunk = 0;
  int receive_chunk = 0;
  bool reduce = true;  // false: what comes replaces what is there
};

inline int RingSteps(int ranks) { return 2 * (ranks - 1); }
// What is sent in a step is what was received in the one before.
// REQUIRES: 0 <= rank < ranks, 0 <= step < RingSteps(ranks).
RingStep StepOf(int rank, int ranks, int step);

// Half-open, in elements.
struct ElementRange {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
};
// Part `index` of `parts` almost equal ones.
ElementRange PartOf(size_t elements, int parts, int index);

// Values whose sum over all ranks is exact in a float, in whatever order it is taken: whole numbers
// below 4096, of at most kMaxRanks ranks, stay below 2^24. Neighbouring ranks and elements differ.
class RingData {
 public:
  static constexpr int kMaxRanks = 4096;

  // REQUIRES: 0 <= rank < ranks <= kMaxRanks.
  RingData(int rank, int ranks);

  // What this rank brings.
  void Fill(absl::Span<float> data) const;

  struct Mismatch {
    size_t element = 0;
    float found = 0;
    float expected = 0;
  };
  // Where `data` is not the sum over all ranks: their number, and the first of them.
  size_t Verify(absl::Span<const float> data, size_t keep, std::vector<Mismatch>& first) const;

 private:
  std::vector<float> own_;  // repeated with a prime period: a chunk in a wrong place shows
  std::vector<float> sums_;
};

}  // namespace muster::burnin
