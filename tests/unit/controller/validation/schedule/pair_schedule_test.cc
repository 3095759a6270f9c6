#include "controller/validation/schedule/pair_schedule.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace muster::controller::validation {
namespace {

// Every pair at most once, each node at most once per round. Returns the number of pairs.
size_t CheckRounds(const std::vector<PairRound>& rounds, size_t nodes) {
  std::vector<bool> seen(nodes * nodes, false);
  size_t pairs = 0;
  for (const PairRound& round : rounds) {
    std::vector<bool> busy(nodes, false);
    for (const NodePair& pair : round) {
      if (pair.first >= pair.second || pair.second >= nodes || busy[pair.first] ||
          busy[pair.second] || seen[pair.first * nodes + pair.second]) {
        ADD_FAILURE() << "pair " << pair.first << "-" << pair.second
                      << " is none, comes twice, or has a node that is in another of its round";
        return pairs;
      }
      busy[pair.first] = busy[pair.second] = true;
      seen[pair.first * nodes + pair.second] = true;
      ++pairs;
    }
  }
  return pairs;
}

std::vector<PairPlace> Switches(const std::vector<uint32_t>& sizes) {
  std::vector<PairPlace> places;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    for (uint32_t j = 0; j < sizes[i]; ++j) places.push_back({i, i * 100 + j / 4});
  }
  return places;
}

size_t Crossing(const PairRound& round, const std::vector<PairPlace>& places) {
  return static_cast<size_t>(std::count_if(round.begin(), round.end(), [&](const NodePair& pair) {
    return places[pair.first].switch_id != places[pair.second].switch_id;
  }));
}

TEST(SchedulePairs, HasEveryPairOnceInFewestRounds) {
  for (size_t nodes = 2; nodes <= 257; ++nodes) {
    SCOPED_TRACE(nodes);
    const auto rounds = SchedulePairs(std::vector<PairPlace>(nodes), 0);
    EXPECT_EQ(rounds.size(), nodes % 2 == 0 ? nodes - 1 : nodes);
    ASSERT_EQ(CheckRounds(rounds, nodes), nodes * (nodes - 1) / 2);
  }
}

TEST(SchedulePairs, HasEveryPairOnceWhateverTheSwitches) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 300; ++turn) {
    std::vector<uint32_t> sizes(1 + random() % 6);
    const uint32_t equal = 1 + random() % 12;
    for (uint32_t& size : sizes) size = turn % 2 == 0 ? equal : 1 + random() % 12;
    std::vector<PairPlace> places = Switches(sizes);
    std::shuffle(places.begin(), places.end(), random);
    SCOPED_TRACE(places.size());
    const auto rounds = SchedulePairs(places, 0);
    EXPECT_EQ(rounds.size(), FullRounds(places.size()));
    ASSERT_EQ(CheckRounds(rounds, places.size()), places.size() * (places.size() - 1) / 2);
  }
}

TEST(SchedulePairs, NobodyToPair) {
  EXPECT_TRUE(SchedulePairs({}, 0).empty());
  EXPECT_TRUE(SchedulePairs({PairPlace{}}, 3).empty());
}

TEST(SchedulePairs, RoundsInsideSwitchesComeFirst) {
  // Two switches with three nodes each: each round has to cross at least once, since three is odd.
  const auto six = Switches({3, 3});
  const auto rounds = SchedulePairs(six, 0);
  std::vector<size_t> crossing;
  for (const PairRound& round : rounds) crossing.push_back(Crossing(round, six));
  EXPECT_EQ(crossing, (std::vector<size_t>{1, 1, 1, 3, 3}));

  const auto four_of_eight = Switches({8, 8, 8, 8});
  const auto many = SchedulePairs(four_of_eight, 0);
  for (size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(Crossing(many[i], four_of_eight), i < 7 ? 0u : 16u) << i;
  }

  const auto uneven = Switches({5, 9, 2});
  size_t before = 0;
  for (const PairRound& round : SchedulePairs(uneven, 0)) {
    EXPECT_GE(Crossing(round, uneven), before);
    before = Crossing(round, uneven);
  }
}

TEST(SchedulePairs, LimitedRoundsStayLocalAndStillSeeUplinks) {
  const auto places = Switches({40, 38, 1, 40, 7});
  const auto rounds = SchedulePairs(places, 8);
  ASSERT_EQ(rounds.size(), 8u);
  CheckRounds(rounds, places.size());
  std::vector<size_t> partners(places.size(), 0);
  for (size_t i = 0; i < rounds.size(); ++i) {
    if (i < 6) {
      EXPECT_LE(Crossing(rounds[i], places), 4u) << i;
    } else {
      EXPECT_GE(Crossing(rounds[i], places), 38u) << i;
    }
    for (const NodePair& pair : rounds[i]) {
      ++partners[pair.first];
      ++partners[pair.second];
    }
  }
  EXPECT_GE(*std::min_element(partners.begin(), partners.end()), 3u);
  EXPECT_EQ(SchedulePairs(Switches({6}), 2).size(), 2u);
  EXPECT_EQ(SchedulePairs(Switches({1, 1, 1, 1}), 2).size(), 2u);
}

TEST(SchedulePairs, LimitedRoundsLeaveNoNodeOut) {
  const std::vector<std::vector<uint32_t>> layouts = {
      {3}, {5}, {41}, {1, 1, 1}, {3, 3, 3}, {1, 2, 4}, {40, 38, 1, 40, 8}, {4, 4}};
  for (const std::vector<uint32_t>& sizes : layouts) {
    const auto places = Switches(sizes);
    for (size_t max_rounds = 1; max_rounds <= 3; ++max_rounds) {
      SCOPED_TRACE(::testing::Message() << places.size() << " nodes, " << max_rounds << " rounds");
      const auto rounds = SchedulePairs(places, max_rounds);
      CheckRounds(rounds, places.size());
      std::vector<bool> paired(places.size(), false);
      for (const PairRound& round : rounds) {
        for (const NodePair& pair : round) paired[pair.first] = paired[pair.second] = true;
      }
      EXPECT_EQ(std::count(paired.begin(), paired.end(), false), 0);
    }
  }
  EXPECT_EQ(SchedulePairs(Switches({5}), 1).size(), 2u);
  EXPECT_EQ(SchedulePairs(Switches({6}), 1).size(), 1u);
}

TEST(SchedulePairs, TenThousandNodesInLimitedRounds) {
  std::vector<uint32_t> sizes(250, 40);
  const auto places = Switches(sizes);
  const auto rounds = SchedulePairs(places, 16);
  ASSERT_EQ(rounds.size(), 16u);
  EXPECT_EQ(CheckRounds(rounds, places.size()), 16u * 5000u);
}

}  // namespace
}  // namespace muster::controller::validation
