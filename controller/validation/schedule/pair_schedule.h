// Schedules the pairing of nodes: every pair once, each node in one pair at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::controller::validation {

// Two nodes, by their index in the caller's list; `first` is the smaller.
struct NodePair {
  uint32_t first = 0;
  uint32_t second = 0;

  friend bool operator==(const NodePair& a, const NodePair& b) {
    return a.first == b.first && a.second == b.second;
  }
};
// Pairs that run at the same time: no node is in two of them.
using PairRound = std::vector<NodePair>;

// The place of a node. Equal numbers mean the same switch and the same rack.
struct PairPlace {
  uint32_t switch_id = 0;
  uint32_t rack_id = 0;
};

// The number of rounds for all pairs of `nodes` nodes: n − 1, or n when n is odd.
size_t FullRounds(size_t nodes);

// Round `round` (below FullRounds()) of the circle method: one node stays in place, the others move
// by one place each round.
PairRound CircleRound(size_t nodes, size_t round);

// All n(n−1)/2 pairs in FullRounds() rounds; with `max_rounds` above 0 and below that, the pairs of
// that many rounds, and one more for nodes that are in none of them. Rounds with few pairs between
// switches come first, and among these the rounds with few pairs between racks, so that a bad node
// is found before uplinks are loaded with its retries. Limited rounds keep a quarter, and at least
// one of two, for pairs between switches; a node without a remaining partner on its switch is
// paired across. Deterministic.
std::vector<PairRound> SchedulePairs(const std::vector<PairPlace>& places, size_t max_rounds);

}  // namespace muster::controller::validation
