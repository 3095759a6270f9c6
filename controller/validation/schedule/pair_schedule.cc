#include "controller/validation/schedule/pair_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace muster::controller::validation {
namespace {

using Group = std::vector<uint32_t>;  // nodes of one switch

NodePair MakePair(uint32_t a, uint32_t b) { return a < b ? NodePair{a, b} : NodePair{b, a}; }

// By switch, in the order of their numbers; nodes of a rack are adjacent.
std::vector<Group> GroupBySwitch(const std::vector<PairPlace>& places) {
  std::map<uint32_t, Group> by_switch;
  for (uint32_t i = 0; i < places.size(); ++i) by_switch[places[i].switch_id].push_back(i);
  std::vector<Group> groups;
  for (auto& [id, group] : by_switch) {
    std::stable_sort(group.begin(), group.end(),
                     [&](uint32_t a, uint32_t b) { return places[a].rack_id < places[b].rack_id; });
    groups.push_back(std::move(group));
  }
  return groups;
}

// Adds round `round` of the pairs inside each group.
void AddInside(const std::vector<Group>& groups, size_t round, PairRound* out) {
  for (const Group& group : groups) {
    if (round >= FullRounds(group.size())) continue;
    for (const NodePair& pair : CircleRound(group.size(), round)) {
      out->push_back(MakePair(group[pair.first], group[pair.second]));
    }
  }
}

// Adds the pairs of node i of one group with node i + shift of the other, both seen as rings of
// `size` places, the last of which may be empty.
void AddAcross(const Group& a, const Group& b, size_t size, size_t shift, PairRound* out) {
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t j = (i + shift) % size;
    if (j < b.size()) out->push_back(MakePair(a[i], b[j]));
  }
}

// The node of a group of odd size that CircleRound() leaves out; see there.
size_t LeftOut(size_t size, size_t round) {
  std::vector<bool> paired(size, false);
  for (const NodePair& pair : CircleRound(size, round)) {
    paired[pair.first] = paired[pair.second] = true;
  }
  return static_cast<size_t>(std::find(paired.begin(), paired.end(), false) - paired.begin());
}

// For an even number of switches with equally many nodes: first all pairs inside the switches, then
// switch against switch as if the switches were the nodes. With an odd size g each node is left out
// once inside; the nodes left out by two switches are paired, which is one of the g ways in which
// these two switches are paired later. So it takes n − 1 rounds either way.
std::vector<PairRound> EvenGroups(const std::vector<Group>& groups) {
  const size_t size = groups[0].size();
  std::vector<PairRound> rounds;
  for (size_t round = 0; round < FullRounds(size); ++round) {
    PairRound& pairs = rounds.emplace_back();
    AddInside(groups, round, &pairs);
    if (size % 2 == 0) continue;
    const size_t out = LeftOut(size, round);
    for (const NodePair& two : CircleRound(groups.size(), 0)) {
      pairs.push_back(MakePair(groups[two.first][out], groups[two.second][out]));
    }
  }
  for (size_t meeting = 0; meeting < FullRounds(groups.size()); ++meeting) {
    const bool began_inside = meeting == 0 && size % 2 == 1;
    for (size_t shift = began_inside ? 1 : 0; shift < size; ++shift) {
      PairRound& pairs = rounds.emplace_back();
      for (const NodePair& two : CircleRound(groups.size(), meeting)) {
        AddAcross(groups[two.first], groups[two.second], size, shift, &pairs);
      }
    }
  }
  return rounds;
}

// The circle's rounds, those with few pairs between switches and racks first.
std::vector<PairRound> SortedCircle(const std::vector<Group>& groups,
                                    const std::vector<PairPlace>& places) {
  Group order;
  for (const Group& group : groups) order.insert(order.end(), group.begin(), group.end());
  std::vector<PairRound> rounds;
  std::vector<std::pair<size_t, size_t>> crossing;  // switches, racks
  for (size_t round = 0; round < FullRounds(order.size()); ++round) {
    PairRound& pairs = rounds.emplace_back(CircleRound(order.size(), round));
    auto& [switches, racks] = crossing.emplace_back(0, 0);
    for (NodePair& pair : pairs) {
      pair = MakePair(order[pair.first], order[pair.second]);
      const PairPlace &a = places[pair.first], &b = places[pair.second];
      switches += a.switch_id != b.switch_id;
      racks += a.rack_id != b.rack_id;
    }
  }
  std::vector<size_t> by_crossing(rounds.size());
  std::iota(by_crossing.begin(), by_crossing.end(), 0);
  std::stable_sort(by_crossing.begin(), by_crossing.end(),
                   [&](size_t a, size_t b) { return crossing[a] < crossing[b]; });
  std::vector<PairRound> sorted;
  for (const size_t round : by_crossing) sorted.push_back(std::move(rounds[round]));
  return sorted;
}

// For only a few rounds: they need not add up to all pairs, so switches of any sizes can be taken
// one by one and against each other, and a node left without a partner takes any other such node.
class LimitedRounds {
 public:
  LimitedRounds(const std::vector<Group>& groups, size_t nodes, size_t max_rounds)
      : groups_(groups), nodes_(nodes), max_rounds_(max_rounds) {
    for (const Group& group : groups) largest_ = std::max(largest_, group.size());
  }

  std::vector<PairRound> Make() {
    const size_t across =
        groups_.size() < 2 || max_rounds_ < 2 ? 0 : std::max<size_t>(1, max_rounds_ / 4);
    const size_t inside = std::min(FullRounds(largest_), max_rounds_ - across);
    for (size_t round = 0; round < inside; ++round) {
      PairRound pairs;
      AddInside(groups_, round, &pairs);
      Keep(std::move(pairs), 1);
    }
    // Pairs the switches differently each round, so that many uplinks are measured; then with a
    // shift.
    const size_t meetings = FullRounds(groups_.size());
    for (size_t i = 0; rounds_.size() < max_rounds_ && i < meetings * largest_; ++i) {
      PairRound pairs;
      for (const NodePair& two : CircleRound(groups_.size(), i % meetings)) {
        AddAcross(groups_[two.first], groups_[two.second], largest_, i / meetings, &pairs);
      }
      Keep(std::move(pairs), 2);
    }
    AddUnpaired();
    return std::move(rounds_);
  }

 private:
  static constexpr size_t kTries = 64;  // for a partner of a node that was left out

  static uint64_t Key(const NodePair& pair) {
    return static_cast<uint64_t>(pair.first) << 32 | pair.second;
  }

  // Nodes left without a partner take each other: with `apart` 1 the neighbor, with 2 one that is
  // far away in the order of the switches.
  void Keep(PairRound pairs, size_t apart) {
    std::vector<bool> paired(nodes_, false);
    PairRound& round = rounds_.emplace_back();
    for (const NodePair& pair : pairs) {
      if (!used_.insert(Key(pair)).second) continue;
      round.push_back(pair);
      paired[pair.first] = paired[pair.second] = true;
    }
    Group left;
    for (const Group& group : groups_) {
      for (const uint32_t node : group) {
        if (!paired[node]) left.push_back(node);
      }
    }
    for (size_t i = 0; i < left.size(); ++i) {
      const size_t first = apart == 1 ? 1 : left.size() / 2;
      for (size_t j = 0; j < std::min(left.size(), kTries) && !paired[left[i]]; ++j) {
        const uint32_t other = left[(i + first + j) % left.size()];
        if (other == left[i] || paired[other]) continue;
        const NodePair pair = MakePair(left[i], other);
        if (!used_.insert(Key(pair)).second) continue;
        round.push_back(pair);
        paired[left[i]] = paired[other] = true;
      }
    }
  }

  // Pairs each node that is in no round with the next one in the order of the switches, in one more
  // round.
  void AddUnpaired() {
    std::vector<bool> paired(nodes_, false);
    for (const PairRound& round : rounds_) {
      for (const NodePair& pair : round) paired[pair.first] = paired[pair.second] = true;
    }
    Group order;
    for (const Group& group : groups_) order.insert(order.end(), group.begin(), group.end());
    PairRound more;
    std::vector<bool> busy(nodes_, false);
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t j = 1; j < order.size() && !paired[order[i]]; ++j) {
        const uint32_t other = order[(i + j) % order.size()];
        if (busy[other]) continue;
        more.push_back(MakePair(order[i], other));
        busy[order[i]] = busy[other] = true;
        paired[order[i]] = paired[other] = true;
      }
    }
    if (!more.empty()) rounds_.push_back(std::move(more));
  }

  const std::vector<Group>& groups_;
  const size_t nodes_;
  const size_t max_rounds_;
  size_t largest_ = 0;
  absl::flat_hash_set<uint64_t> used_;
  std::vector<PairRound> rounds_;
};

}  // namespace

size_t FullRounds(size_t nodes) { return nodes < 2 ? 0 : nodes % 2 == 0 ? nodes - 1 : nodes; }

PairRound CircleRound(size_t nodes, size_t round) {
  // An odd number gets one more place, whose partner has a free round.
  const size_t places = nodes + nodes % 2;
  const size_t ring = places - 1;
  PairRound pairs;
  if (nodes < 2) return pairs;
  const auto add = [&](size_t a, size_t b) {
    if (a < nodes && b < nodes) {
      pairs.push_back(MakePair(static_cast<uint32_t>(a), static_cast<uint32_t>(b)));
    }
  };
  pairs.reserve(places / 2);
  add(ring, round % ring);
  for (size_t i = 1; i < places / 2; ++i) {
    add((round + i) % ring, (round + ring - i) % ring);
  }
  return pairs;
}

std::vector<PairRound> SchedulePairs(const std::vector<PairPlace>& places, size_t max_rounds) {
  if (places.size() < 2) return {};
  const std::vector<Group> groups = GroupBySwitch(places);
  if (max_rounds > 0 && max_rounds < FullRounds(places.size())) {
    return LimitedRounds(groups, places.size(), max_rounds).Make();
  }
  const bool even = groups.size() % 2 == 0 && groups[0].size() > 1 &&
                    std::all_of(groups.begin(), groups.end(), [&](const Group& group) {
                      return group.size() == groups[0].size();
                    });
  return even ? EvenGroups(groups) : SortedCircle(groups, places);
}

}  // namespace muster::controller::validation
