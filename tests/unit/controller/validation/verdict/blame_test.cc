#include "controller/validation/verdict/blame.h"

#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/validation/schedule/pair_schedule.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kGood = 9.4;

PairMatrix Nodes(int count, int switches = 1) {
  PairMatrix matrix;
  for (int i = 0; i < count; ++i) {
    matrix.nodes.push_back({absl::StrCat("c", i), absl::StrCat("sw", i * switches / count), {}});
  }
  return matrix;
}

// Measures all pairs of some rounds, in both directions; `rate` gives from → to.
void MeasurePairs(PairMatrix& matrix, const std::function<double(uint32_t, uint32_t)>& rate,
                  size_t rounds = 0) {
  for (const PairRound& round :
       SchedulePairs(std::vector<PairPlace>(matrix.nodes.size()), rounds)) {
    for (const NodePair& pair : round) {
      matrix.rates.push_back(
          {pair.first, pair.second, rate(pair.first, pair.second), 10, 0, "eth0", "eth0"});
      matrix.rates.push_back(
          {pair.second, pair.first, rate(pair.second, pair.first), 10, 0, "eth0", "eth0"});
    }
  }
}

TEST(FindBlame, NobodyWhereNothingIsWrong) {
  EXPECT_THAT(FindBlame({}), IsEmpty());
  PairMatrix matrix = Nodes(6);
  MeasurePairs(matrix, [](uint32_t, uint32_t) { return kGood; });
  EXPECT_THAT(FindBlame(matrix), IsEmpty());
}

TEST(FindBlame, OneSlowNode) {
  PairMatrix matrix = Nodes(6, 2);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) { return a == 4 || b == 4 ? 3 : kGood; });
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kNode);
  EXPECT_THAT(blames[0].names, ElementsAre("c4"));
  EXPECT_THAT(blames[0].nodes, ElementsAre(4u));
  EXPECT_THAT(blames[0].evidence,
              Contains("sending: 5 of 5 measurements are slow, median 3 Gbit/s"));
  EXPECT_EQ(ToProto(blames[0]).kind(), "node");
}

TEST(FindBlame, NodeThatCannotBeReached) {
  PairMatrix matrix = Nodes(5);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) { return a == 0 || b == 0 ? 0 : kGood; });
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_THAT(blames[0].names, ElementsAre("c0"));
}

TEST(FindBlame, OneSlowDirectionIsALink) {
  PairMatrix matrix = Nodes(6);
  MeasurePairs(matrix, [](uint32_t a, uint32_t) { return a == 2 ? 4 : kGood; });
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kLink);
  EXPECT_THAT(blames[0].names, ElementsAre("c2", "eth0"));
  EXPECT_THAT(blames[0].message, Said());
}

TEST(FindBlame, CountersTellTheCableFromTheCard) {
  PairMatrix matrix = Nodes(6);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) { return a == 1 || b == 1 ? 2 : kGood; });
  matrix.nodes[1].ports.push_back({"eth0", 4711, {}, {}});
  EXPECT_EQ(FindBlame(matrix)[0].kind, BlameKind::kLink);
  EXPECT_THAT(FindBlame(matrix)[0].evidence,
              Contains("eth0 received 4711 frames with a wrong checksum"));
  matrix.nodes[1].ports[0] = {"eth0", 0, {}, {"PCIe x4 instead of x8"}};
  EXPECT_EQ(FindBlame(matrix)[0].kind, BlameKind::kNic);
  EXPECT_THAT(FindBlame(matrix)[0].names, ElementsAre("c1", "eth0"));
}

// "1 slow measurements".
TEST(FindBlame, OneOfAThingIsNotSeveral) {
  PairMatrix matrix = Nodes(3);
  matrix.rates = {{0, 1, 3, 10, /*retransmits=*/1, "eth0", "eth0"},
                  {2, 1, kGood, 10, 0, "eth0", "eth0"},
                  {1, 2, kGood, 10, 0, "eth0", "eth0"}};
  matrix.nodes[0].ports.push_back({"eth0", /*crc_errors=*/1, {"the carrier changed"}, {}});
  BlameRule rule;
  rule.min_evidence = 1;
  const auto blames = FindBlame(matrix, rule);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_THAT(blames[0].evidence,
              ElementsAre("sending: 1 of 1 measurement is slow, median 3 Gbit/s, 1 retransmit",
                          "eth0 received 1 frame with a wrong checksum", "the carrier changed"));
}

TEST(FindBlame, BrokenFramesAreABrokenLinkWhateverTheRates) {
  PairMatrix matrix = Nodes(4);
  MeasurePairs(matrix, [](uint32_t, uint32_t) { return kGood; });
  matrix.nodes[3].ports.push_back({"eth0", 9, {}, {}});
  EXPECT_THAT(FindBlame(matrix), IsEmpty());
  matrix.nodes[3].ports[0].crc_errors = 10;
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kLink);
  EXPECT_THAT(blames[0].names, ElementsAre("c3", "eth0"));
}

TEST(FindBlame, OneOfTwoInterfaces) {
  PairMatrix matrix = Nodes(4);
  for (const char* interface : {"ib0", "ib1"}) {
    for (uint32_t a = 0; a < 4; ++a) {
      for (uint32_t b = 0; b < 4; ++b) {
        if (a == b) continue;
        const bool slow = absl::string_view(interface) == "ib1" && (a == 2 || b == 2);
        matrix.rates.push_back({a, b, slow ? 10.0 : 50.0, 56, 0, interface, interface});
      }
    }
  }
  auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kNic);
  EXPECT_THAT(blames[0].names, ElementsAre("c2", "ib1"));
  for (DirectedRate& rate : matrix.rates) {
    if (rate.from == 2 || rate.to == 2) rate.gbits_per_s = 10;
  }
  blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kNode);
  EXPECT_THAT(blames[0].message, Said());
}

TEST(FindBlame, SlowUplink) {
  PairMatrix matrix = Nodes(6, 2);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) { return (a < 3) != (b < 3) ? 2 : kGood; });
  auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kUplink);
  EXPECT_THAT(blames[0].names, ElementsAre("sw0", "sw1"));
  EXPECT_THAT(blames[0].nodes, IsEmpty());
  // A small switch on a large one: its two nodes are slow with nearly everybody.
  PairMatrix uneven = Nodes(12);
  for (int i = 0; i < 12; ++i) uneven.nodes[i].switch_name = i < 2 ? "small" : "large";
  MeasurePairs(uneven, [](uint32_t a, uint32_t b) { return a < 2 && b >= 2 ? 2 : kGood; });
  blames = FindBlame(uneven);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kUplink);
  EXPECT_THAT(blames[0].message, Said());
}

// Four nodes of 10 Gbit/s per switch, behind 10 Gbit/s.
TEST(FindBlame, AnOversubscribedUplinkIsNotSlow) {
  PairMatrix matrix = Nodes(8, 2);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) { return (a < 4) != (b < 4) ? 2.3 : kGood; });
  auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kUplink);
  EXPECT_THAT(blames[0].message, Said());
  for (DirectedRate& rate : matrix.rates) {
    if ((rate.from < 4) == (rate.to < 4)) continue;
    rate.uplink_share_gbits_per_s = 2.5;
    rate.limit = "below the floor of 8";
  }
  EXPECT_THAT(FindBlame(matrix), IsEmpty());
  // Half of that is too little even then.
  for (DirectedRate& rate : matrix.rates) {
    if ((rate.from < 4) != (rate.to < 4)) rate.gbits_per_s = 1.2;
  }
  blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kUplink);
  EXPECT_THAT(blames[0].message, Said());
}

// Connections do not share an uplink equally, as long as it is full.
TEST(FindBlame, AnUnequalShareOfAFullUplinkIsNotSlow) {
  PairMatrix matrix = Nodes(8, 2);
  const auto crosses = [](uint32_t a, uint32_t b) { return (a < 4) != (b < 4); };
  MeasurePairs(matrix, [&](uint32_t a, uint32_t b) {
    return !crosses(a, b) ? kGood : (a + b) % 2 == 0 ? 1.6 : 3.1;
  });
  for (DirectedRate& rate : matrix.rates) {
    if (!crosses(rate.from, rate.to)) continue;
    rate.uplink_share_gbits_per_s = 2.5;
    rate.uplink_mean_gbits_per_s = 2.35;
  }
  EXPECT_THAT(FindBlame(matrix), IsEmpty());
  // If others fill the uplink, one that gets next to nothing is slow by itself.
  for (DirectedRate& rate : matrix.rates) {
    if (rate.from == 1 || rate.to == 1) rate.gbits_per_s = 0.5;
  }
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_THAT(blames[0].names, ElementsAre("c1"));
}

// Most pairs cross the uplinks and reveal nothing about the ports.
TEST(FindBlame, ASlowNodeInsideAnOversubscribedNetwork) {
  PairMatrix matrix = Nodes(32, 8);
  const auto crosses = [](uint32_t a, uint32_t b) { return a / 4 != b / 4; };
  MeasurePairs(matrix, [&](uint32_t a, uint32_t b) {
    return crosses(a, b) ? 2.3 : a == 5 || b == 5 ? 3 : kGood;
  });
  for (DirectedRate& rate : matrix.rates) {
    if (crosses(rate.from, rate.to)) rate.uplink_share_gbits_per_s = 2.5;
  }
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_THAT(blames[0].names, ElementsAre("c5"));
  EXPECT_EQ(blames[0].kind, BlameKind::kNode);
}

TEST(FindBlame, AWideUplinkExcusesNobody) {
  PairMatrix matrix = Nodes(8, 2);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) { return a == 1 || b == 1 ? 3 : kGood; });
  for (DirectedRate& rate : matrix.rates) {
    if ((rate.from < 4) != (rate.to < 4)) rate.uplink_share_gbits_per_s = 25;
  }
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_THAT(blames[0].names, ElementsAre("c1"));
}

TEST(FindBlame, TwoBadNodes) {
  PairMatrix matrix = Nodes(8);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) {
    return a == 1 || b == 1 ? 1 : a == 6 || b == 6 ? 5 : kGood;
  });
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(2));
  EXPECT_THAT(blames[0].names, ElementsAre("c1"));
  EXPECT_THAT(blames[1].names, ElementsAre("c6"));
}

TEST(FindBlame, CannotTellWithoutOthersToCompareWith) {
  PairMatrix two = Nodes(2);
  two.rates = {{0, 1, 3, 10, 0, "eth0", "eth0"}, {1, 0, 9.4, 10, 0, "eth0", "eth0"}};
  auto blames = FindBlame(two);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kCannotTell);
  EXPECT_THAT(blames[0].names, ElementsAre("c0", "c1"));
  EXPECT_THAT(blames[0].suspects, ElementsAre(0u, 1u));
  EXPECT_EQ(blames[0].message,
            "1 slow measurement, which does not show whether it is c0 or c1: validate each with a "
            "third node");
  EXPECT_THAT(blames[0].pairs, ElementsAre(std::make_pair(0u, 1u)));

  // One pair alone among good ones.
  PairMatrix one = Nodes(6);
  MeasurePairs(one, [](uint32_t a, uint32_t b) { return a + b == 5 && a % 5 == 0 ? 1 : kGood; });
  blames = FindBlame(one);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kCannotTell);
  EXPECT_THAT(blames[0].names, ElementsAre("c0", "c5"));
  EXPECT_THAT(blames[0].message, Said());
  EXPECT_THAT(blames[0].message, Said());

  // A node that is alone on its switch: itself or the uplink.
  PairMatrix alone = Nodes(5);
  alone.nodes[0].switch_name = "other";
  MeasurePairs(alone, [](uint32_t a, uint32_t b) { return a == 0 || b == 0 ? 1 : kGood; });
  blames = FindBlame(alone);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kCannotTell);
  EXPECT_THAT(blames[0].message, Said());
}

// Equally slow both ways, so that no rate shows what is good.
TEST(FindBlame, TwoNodesBelowTheirFloorAreTold) {
  PairMatrix two = Nodes(2);
  two.rates = {{0, 1, 0.09, 10, 0, "eth0", "eth0", "below 8"},
               {1, 0, 0.09, 10, 0, "eth0", "eth0", "below 8"}};
  auto blames = FindBlame(two);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kCannotTell);
  EXPECT_THAT(blames[0].evidence, Contains("from c0 to c1: 0.09 Gbit/s; below 8"));
  // A fault of one port distinguishes the two, as long as the other has none.
  two.nodes[1].ports.push_back({"eth0", 0, {"eth0 runs at 100 Mbit/s"}, {}});
  blames = FindBlame(two);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kLink);
  EXPECT_THAT(blames[0].nodes, ElementsAre(1u));
  EXPECT_THAT(blames[0].message, Said());
  EXPECT_THAT(blames[0].evidence, Contains("eth0 runs at 100 Mbit/s"));
  two.nodes[0].ports.push_back({"eth0", 0, {"eth0 runs at 100 Mbit/s"}, {}});
  EXPECT_EQ(FindBlame(two)[0].kind, BlameKind::kCannotTell);
}

// Most pairs are below their floor, so that the usual rate is not a measure.
TEST(FindBlame, SlowNodesThatAreTheMajority) {
  PairMatrix matrix = Nodes(4);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) { return a < 2 || b < 2 ? 3 : kGood; });
  for (DirectedRate& rate : matrix.rates) {
    if (rate.gbits_per_s < 8) rate.limit = "below 8";
  }
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(2));
  EXPECT_THAT(blames[0].names, ElementsAre("c0"));
  EXPECT_THAT(blames[1].names, ElementsAre("c1"));
}

TEST(FindBlame, NoGoodPairAtAll) {
  PairMatrix matrix = Nodes(4);
  MeasurePairs(matrix, [](uint32_t, uint32_t) { return 0.94; });
  for (DirectedRate& rate : matrix.rates) rate.limit = "below 8";
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kCannotTell);
  EXPECT_THAT(blames[0].message, Said());
}

TEST(FindBlame, MissingPairs) {
  PairMatrix matrix = Nodes(20);
  MeasurePairs(
      matrix, [](uint32_t a, uint32_t b) { return a == 7 || b == 7 ? 3 : kGood; }, 4);
  const auto blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_THAT(blames[0].names, ElementsAre("c7"));
}

TEST(FindBlame, SlowPortsAreComparedWithSlowPorts) {
  PairMatrix matrix = Nodes(10);
  MeasurePairs(matrix, [](uint32_t a, uint32_t b) { return a < 4 || b < 4 ? 0.94 : kGood; });
  for (DirectedRate& rate : matrix.rates) {
    rate.speed_gbits_per_s = rate.from < 4 || rate.to < 4 ? 1 : 10;
  }
  EXPECT_THAT(FindBlame(matrix), IsEmpty());
}

// The receiver reports a rate, so that a node can say of itself whatever it likes.
TEST(FindBlame, ARateThatOnlyOneNodeReachesIsNotUsual) {
  for (int count = 3; count <= 12; ++count) {
    PairMatrix matrix = Nodes(count);
    MeasurePairs(matrix, [](uint32_t, uint32_t b) { return b == 0 ? 1000 : kGood; });
    EXPECT_THAT(FindBlame(matrix), IsEmpty()) << count;
    // Nor if only the sender reports it.
    MeasurePairs(matrix, [](uint32_t, uint32_t) { return kGood; });
    for (DirectedRate& rate : matrix.rates) {
      rate.told_by_sender = rate.from == 0;
      rate.gbits_per_s = rate.told_by_sender ? 1000 : kGood;
    }
    EXPECT_THAT(FindBlame(matrix), IsEmpty()) << count;
  }
}

// Whatever is broken and however noisy the rates are: nobody else is blamed for it.
TEST(FindBlame, NeverBlamesTheInnocent) {
  int found = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> noise(0.95, 1.0);
    const int count = 3 + static_cast<int>(random() % 30);
    PairMatrix matrix = Nodes(count, 1 + static_cast<int>(random() % 4));
    std::set<uint32_t> bad;
    for (unsigned i = random() % 3; i > 0; --i) bad.insert(random() % count);
    const double share = 0.1 + 0.06 * (random() % 10);
    const bool one_way = random() % 3 == 0;
    const bool bad_uplink = random() % 4 == 0;
    MeasurePairs(
        matrix,
        [&](uint32_t a, uint32_t b) {
          const bool slow = bad.count(a) > 0 || (!one_way && bad.count(b) > 0);
          const std::string &from = matrix.nodes[a].switch_name, &to = matrix.nodes[b].switch_name;
          const bool crosses = from != to && from <= "sw1" && to <= "sw1";
          return kGood * noise(random) * (slow || (bad_uplink && crosses) ? share : 1);
        },
        random() % 2 == 0 ? 0 : 3 + random() % 5);
    for (const Blame& blame : FindBlame(matrix)) {
      for (const uint32_t node : blame.nodes) {
        EXPECT_EQ(bad.count(node), 1u) << blame.message;
        ++found;
      }
      if (blame.kind == BlameKind::kUplink) {
        EXPECT_TRUE(bad_uplink) << blame.message;
      }
    }
  }
  EXPECT_GT(found, 200);
}

}  // namespace
}  // namespace muster::controller::validation
