// Which nodes are paired when: every pair once, each node in one pair at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::controller::validation {

// Two nodes, by their place in the caller's list; `first` is the smaller.
struct NodePair {
  uint32_t first = 0;
  uint32_t second = 0;

  friend bool operator==(const NodePair& a, const NodePair& b) {
    return a.first == b.first && a.second == b.second;
  }
};
// Pairs that run at the same time: no node is in two of them.
using PairRound = std::vector<NodePair>;

// Where a node is. Equal numbers: the same switch, the same rack.
struct PairPlace {
  uint32_t switch_id = 0;
  uint32_t rack_id = 0;
};

// Rounds that all pairs of so many nodes take: n − 1, of an odd number n.
size_t FullRounds(size_t nodes);

// Round `round` (below FullRounds()) of the circle method: one node stands still, the others move
// on by one place a round.
PairRound CircleRound(size_t nodes, size_t round);

// All n(n−1)/2 pairs in FullRounds() rounds; with `max_rounds` above 0 and below that, the pairs of
// so many rounds. Rounds with few pairs between switches come first, and among these rounds with
// few between racks, so that a bad node is found before uplinks are loaded with its retries.
// Limited rounds keep a quarter, and at least one of two, for pairs between switches; a node whose
// switch has no partner left for it is paired across. Deterministic.
std::vector<PairRound> SchedulePairs(const std::vector<PairPlace>& places, size_t max_rounds);

}  // namespace muster::controller::validation
