// The combined verdict of a node's checks, pairs among them.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checks/catalog.h"
#include "controller/validation/verdict/pair_matrix.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/validation/verdict_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::CheckVerdict Verdict(v1::Outcome outcome, const std::string& partner = "") {
  v1::CheckVerdict verdict;
  verdict.set_check(partner.empty() ? "gpu-gemm" : "nic-pair");
  verdict.set_partner(partner);
  verdict.set_outcome(outcome);
  return verdict;
}

v1::Outcome Of(const std::vector<v1::CheckVerdict>& verdicts, bool complete = true) {
  std::vector<const v1::CheckVerdict*> pointers;
  for (const v1::CheckVerdict& verdict : verdicts) pointers.push_back(&verdict);
  return OutcomeOf(pointers, complete);
}

TEST(OutcomeOf, TheWorstCounts) {
  const auto pass = Verdict(v1::OUTCOME_PASS), fail = Verdict(v1::OUTCOME_FAIL),
             unknown = Verdict(v1::OUTCOME_UNKNOWN), skipped = Verdict(v1::OUTCOME_SKIPPED);
  EXPECT_EQ(Of({}), v1::OUTCOME_UNSPECIFIED);
  EXPECT_EQ(Of({skipped}), v1::OUTCOME_SKIPPED);
  EXPECT_EQ(Of({pass, skipped}), v1::OUTCOME_PASS);
  EXPECT_EQ(Of({pass, unknown, skipped}), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({unknown, fail, pass}), v1::OUTCOME_FAIL);
  EXPECT_EQ(Of({pass}, false), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({fail}, false), v1::OUTCOME_FAIL);
  EXPECT_EQ(Of({}, false), v1::OUTCOME_UNKNOWN);
}

TEST(OutcomeOf, LostPartnersSayNothingOfTheNode) {
  const auto pass = Verdict(v1::OUTCOME_PASS, "a"), unknown = Verdict(v1::OUTCOME_UNKNOWN, "b"),
             fail = Verdict(v1::OUTCOME_FAIL, "c");
  EXPECT_EQ(Of({pass, unknown}), v1::OUTCOME_PASS);
  EXPECT_EQ(Of({unknown}), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({pass, unknown, unknown}), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({pass, pass, fail}), v1::OUTCOME_FAIL);
}

constexpr char kPort[] =
    "kind: nic\n"
    "match: [ethernet]\n"
    "limits:\n"
    "  - {check: nic-pair, metric: receive_gbits, unit: Gbit/s, floor: 8, peak: 10, source: t}\n"
    "  - {check: nic-pair, metric: send_gbits, unit: Gbit/s, floor: 8, peak: 10, source: t}\n"
    "  - {check: nic-pair, metric: port_errors, unit: \"1\", ceiling: 0, optional: true,\n"
    "     source: test}\n";

TEST(OutcomeOf, ExcusedPairsDoNotCountBesideAGoodOne) {
  const auto pass = Verdict(v1::OUTCOME_PASS, "a"), unknown = Verdict(v1::OUTCOME_UNKNOWN, "b"),
             fail = Verdict(v1::OUTCOME_FAIL, "c");
  auto excused = Verdict(v1::OUTCOME_UNKNOWN, "d");
  excused.set_excused(true);
  EXPECT_EQ(Of({pass, excused, excused, excused}), v1::OUTCOME_PASS);
  EXPECT_EQ(Of({excused, excused}), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({pass, excused, unknown, unknown}), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({pass, excused, fail}), v1::OUTCOME_FAIL);
  auto of_another_check = excused;
  of_another_check.set_check("rdma-pair");
  EXPECT_EQ(Of({pass, of_another_check}), v1::OUTCOME_UNKNOWN);
}

TEST(OutcomeOf, AnExcusedGroupDoesNotCountBesideAGoodPair) {
  auto group = Verdict(v1::OUTCOME_UNKNOWN);
  group.set_check("collective");
  const auto pair = Verdict(v1::OUTCOME_PASS, "a"), solo = Verdict(v1::OUTCOME_PASS);
  EXPECT_EQ(Of({solo, pair, group}), v1::OUTCOME_UNKNOWN);
  group.set_excused(true);
  EXPECT_EQ(Of({solo, pair, group}), v1::OUTCOME_PASS);
  EXPECT_EQ(Of({solo, group}), v1::OUTCOME_UNKNOWN);
}

struct NodeResultRef {
  std::string node;
  const v1::CheckResult* result;
};

PairMatrix MatrixOf(const std::vector<MatrixNode>& nodes, const std::vector<PairResult>& pairs,
                    const std::vector<NodeResultRef>& others) {
  PairMatrixMaker maker(nodes);
  for (const PairResult& pair : pairs) maker.Add(pair);
  PortFaults faults;
  for (const NodeResultRef& other : others) faults.Add(other.node, *other.result);
  return maker.Finish(faults);
}

// From results of pairs to blame, and back to the verdicts.
class PairVerdictTest : public VerdictTest {
 protected:
  void Pair(const std::string& node, const std::string& partner, double receive, double send) {
    v1::CheckResult& result = results_.emplace_back();
    result.set_check("nic-pair");
    result.set_outcome(v1::OUTCOME_PASS);
    v1::Subject& nic = *result.add_subjects();
    nic.set_id("eth0");
    nic.set_kind("nic");
    AddMetric(result, "receive_gbits", "", "eth0", "Gbit/s", receive);
    AddMetric(result, "send_gbits", "", "eth0", "Gbit/s", send);
    AddMetric(result, "retransmits", "", "eth0", "1", 5);
    v1::CheckVerdict& verdict = verdicts_.emplace_back();
    pairs_.push_back(
        {names_.emplace_back(node), names_.emplace_back(partner), &kPair, &result, &verdict});
    verdict = JudgeCheck(result, kPair, floor_, {});
    verdict.set_partner(partner);
    pair_verdicts_.push_back({pairs_.back().node, pairs_.back().partner, &verdict});
  }
  // A port of the node, and the rate of the pair over it.
  struct Rail {
    const char* port;
    const char* rate;
    double gbits;
  };
  // One side of rdma-pair, which no limit judges.
  void RdmaPair(const std::string& node, const std::string& partner,
                const std::vector<Rail>& rails) {
    v1::CheckResult& result = results_.emplace_back();
    result.set_check("rdma-pair");
    result.set_outcome(v1::OUTCOME_PASS);
    for (size_t i = 0; i < rails.size(); ++i) {
      v1::Subject& nic = *result.add_subjects();
      nic.set_id(rails[i].port);
      nic.set_kind("nic");
      (*nic.mutable_attributes())["rate"] = rails[i].rate;
      const std::string variant = rails.size() == 1 ? "" : absl::StrCat(i + 1);
      for (const char* metric : {"write_receive_gbits", "write_send_gbits"}) {
        AddMetric(result, metric, variant, rails[i].port, "Gbit/s", rails[i].gbits);
      }
    }
    pairs_.push_back({names_.emplace_back(node), names_.emplace_back(partner),
                      checks::FindCheck("rdma-pair"), &result});
  }
  // All pairs of a, b, c and d, of which b's are slow.
  void PairsWithSlowB() {
    const std::vector<std::string> names = {"a", "b", "c", "d"};
    for (const std::string& node : names) {
      for (const std::string& partner : names) {
        if (node == partner) continue;
        const bool slow = node == "b" || partner == "b";
        Pair(node, partner, slow ? 3 : 9.4, slow ? 3.1 : 9.3);
      }
    }
  }
  static const std::vector<MatrixNode> FourNodes() {
    return {{"a", "sw", 10}, {"b", "sw", 10}, {"c", "sw", 10}, {"d", "sw", 10}};
  }
  std::map<std::string, std::vector<const v1::CheckVerdict*>> ByNode() const {
    std::map<std::string, std::vector<const v1::CheckVerdict*>> of_node;
    for (const PairVerdict& pair : pair_verdicts_) {
      of_node[std::string(pair.node)].push_back(pair.verdict);
    }
    return of_node;
  }
  v1::CheckVerdict& VerdictOf(absl::string_view node, absl::string_view partner) {
    for (const PairVerdict& pair : pair_verdicts_) {
      if (pair.node == node && pair.partner == partner) return *pair.verdict;
    }
    ADD_FAILURE() << node << " and " << partner << " are no pair";
    return *pair_verdicts_.front().verdict;
  }

  const HardwareLibrary ports_ =
      ParseHardware({{"inventory/hardware/port.yaml", kPort}}, kCatalog).value();
  Expectation floor_{.hardware = {}, .gpu = nullptr, .nic = ports_.Find("nic", "ethernet")};
  std::vector<PairResult> pairs_;
  std::vector<PairVerdict> pair_verdicts_;
};

TEST_F(PairVerdictTest, TheOtherSideHasNothingToAnswerFor) {
  PairsWithSlowB();
  Pair("a", "stranger", 1, 1);
  v1::CheckResult counters;
  v1::Subject& nic = *counters.add_subjects();
  nic.set_id("eth0");
  nic.set_kind("nic");
  AddMetric(counters, "rx_crc_errors", "", "eth0", "1", 100);
  const std::vector<NodeResultRef> others = {{"b", &counters}};
  const PairMatrix matrix = MatrixOf(FourNodes(), pairs_, others);
  ASSERT_THAT(matrix.rates, SizeIs(12));
  EXPECT_DOUBLE_EQ(matrix.rates[0].gbits_per_s, 3);  // a → b as received by b
  EXPECT_DOUBLE_EQ(matrix.rates[0].retransmits, 5);
  EXPECT_EQ(matrix.rates[0].from_interface, "eth0");
  const std::vector<Blame> blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kLink);
  EXPECT_EQ(ToProto(blames[0]).names(0), "b");
  ApplyBlame(matrix, blames, pair_verdicts_);
  auto of_node = ByNode();
  EXPECT_EQ(OutcomeOf(of_node["b"], true), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(of_node["c"], true), v1::OUTCOME_PASS);
  EXPECT_THAT(of_node["c"][1]->reason(), HasSubstr("not this node's fault: the link of b eth0"));
}

// A pair over the 1 Gbit/s of the management network failed by the limits of the 10 Gbit/s ports.
TEST_F(PairVerdictTest, LimitsAreOfThePortsThatTheInventoryNames) {
  Expectation named = floor_;
  const auto outcome = [&](const char* below) {
    v1::CheckResult result;
    result.set_outcome(v1::OUTCOME_PASS);
    v1::Subject& nic = *result.add_subjects();
    nic.set_id("eth0");
    nic.set_kind("nic");
    if (*below != '\0') {
      v1::Subject& card = *result.add_subjects();
      card.set_id(below);
      card.set_kind("nic");
      (*card.mutable_attributes())["below"] = "eth0";
    }
    AddMetric(result, "receive_gbits", "", "eth0", "Gbit/s", 0.94);
    AddMetric(result, "send_gbits", "", "eth0", "Gbit/s", 0.94);
    return JudgeCheck(result, kPair, named, {}).outcome();
  };
  EXPECT_EQ(outcome(""), v1::OUTCOME_FAIL);
  named.hardware.network_interfaces = {"eth0"};
  EXPECT_EQ(outcome(""), v1::OUTCOME_FAIL);
  named.hardware.network_interfaces = {"eth1"};
  EXPECT_EQ(outcome(""), v1::OUTCOME_PASS);
  EXPECT_EQ(outcome("eth2"), v1::OUTCOME_PASS);
  // A VLAN or a bond of these ports is as fast.
  EXPECT_EQ(outcome("eth1"), v1::OUTCOME_FAIL);
  // InfiniBand's limits are not of the Ethernet ports.
  named.hardware.infiniband_rate = "FDR";
  EXPECT_EQ(outcome(""), v1::OUTCOME_FAIL);
}

TEST_F(PairVerdictTest, NothingIsExpectedOfACardBelowABondAlone) {
  v1::CheckResult result;
  result.set_outcome(v1::OUTCOME_PASS);
  for (const char* name : {"bond0", "eth1"}) {
    v1::Subject& nic = *result.add_subjects();
    nic.set_id(name);
    nic.set_kind("nic");
  }
  (*result.mutable_subjects(1)->mutable_attributes())["below"] = "bond0";
  AddMetric(result, "receive_gbits", "", "bond0", "Gbit/s", 9.4);
  AddMetric(result, "send_gbits", "", "bond0", "Gbit/s", 9.4);
  EXPECT_EQ(JudgeCheck(result, kPair, floor_, {}).outcome(), v1::OUTCOME_PASS);
}

TEST_F(PairVerdictTest, TheSpeedOfAnotherPortIsItsOwn) {
  const std::vector<MatrixNode> nodes = {{"a", "sw", 10, 0, "", {"eth0"}},
                                         {"b", "sw", 10, 0, "", {"eth1"}}};
  Pair("a", "b", 0.94, 0.94);
  Pair("b", "a", 0.94, 0.94);
  for (v1::CheckResult& result : results_)
    (*result.mutable_subjects(0)->mutable_attributes())["speed_mbits"] = "1000";
  for (const DirectedRate& rate : MatrixOf(nodes, pairs_, {}).rates)
    EXPECT_EQ(rate.speed_gbits_per_s, 1);
}

TEST_F(PairVerdictTest, AFaultOfItsOwnStaysANodesFaultWhoeverIsBlamed) {
  PairsWithSlowB();
  // Other faults that its worker may see on c itself while b is the slow one.
  v1::CheckResult flapped, counted, gone;
  flapped.add_faults()->set_code("link_flapped");
  AddMetric(flapped, "receive_gbits", "", "eth0", "Gbit/s", 3);
  AddMetric(flapped, "send_gbits", "", "eth0", "Gbit/s", 3);
  AddMetric(counted, "receive_gbits", "", "eth0", "Gbit/s", 3);
  AddMetric(counted, "send_gbits", "", "eth0", "Gbit/s", 3);
  AddMetric(counted, "port_errors", "symbol_error", "eth0", "1", 7);
  AddMetric(gone, "receive_gbits", "", "eth0", "Gbit/s", 3);
  for (v1::CheckResult* result : {&flapped, &counted, &gone}) {
    result->set_outcome(v1::OUTCOME_PASS);
    v1::Subject& nic = *result->add_subjects();
    nic.set_id("eth0");
    nic.set_kind("nic");
    v1::CheckVerdict& verdict = VerdictOf("c", "b");
    verdict = JudgeCheck(*result, kPair, floor_, {});
    const PairMatrix matrix = MatrixOf(FourNodes(), pairs_, {});
    ApplyBlame(matrix, FindBlame(matrix), pair_verdicts_);
    EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL) << result->DebugString();
    EXPECT_EQ(VerdictOf("d", "b").outcome(), v1::OUTCOME_UNKNOWN);
  }
}

TEST_F(PairVerdictTest, ASlowUplinkKeepsNoNodeOutThatIsFastInsideItsSwitch) {
  const std::vector<MatrixNode> nodes = {{"a", "s1", 10}, {"b", "s1", 10}, {"c", "s1", 10},
                                         {"d", "s2", 10}, {"e", "s2", 10}, {"f", "s2", 10}};
  for (const MatrixNode& node : nodes) {
    for (const MatrixNode& partner : nodes) {
      if (node.name == partner.name) continue;
      const bool slow = node.switch_name != partner.switch_name;
      Pair(node.name, partner.name, slow ? 3 : 9.4, slow ? 3.1 : 9.3);
    }
  }
  const PairMatrix matrix = MatrixOf(nodes, pairs_, {});
  const std::vector<Blame> blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kUplink);
  ApplyBlame(matrix, blames, pair_verdicts_);
  for (const auto& [node, checks] : ByNode()) {
    EXPECT_EQ(OutcomeOf(checks, true), v1::OUTCOME_PASS) << node;
  }
  EXPECT_EQ(VerdictOf("a", "d").outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_TRUE(VerdictOf("a", "d").excused());
  EXPECT_FALSE(VerdictOf("a", "b").excused());
}

// Two nodes per switch and 5 Gbit/s between the switches: in one round two pairs share them, in
// another a single pair has them.
TEST_F(PairVerdictTest, ANodeIsNotHeldAgainstWhatTheUplinkDoesNotCarry) {
  const std::vector<MatrixNode> nodes = {
      {"a", "s1", 10, 5}, {"b", "s1", 10, 5}, {"c", "s2", 10, 5}, {"d", "s2", 10, 5}};
  const auto add = [&](const char* node, const char* partner, double rate, const char* round) {
    Pair(node, partner, rate, rate);
    pairs_.back().round = round;
    Pair(partner, node, rate, rate);
    pairs_.back().round = round;
  };
  add("a", "b", 9.4, "0");
  add("c", "d", 9.4, "0");
  add("a", "c", 1.7, "1");
  add("b", "d", 3.0, "1");
  add("a", "d", 4.7, "2");
  const PairMatrix matrix = MatrixOf(nodes, pairs_, {});
  std::map<std::string, double> shares, means;
  for (const DirectedRate& rate : matrix.rates) {
    const std::string names = matrix.nodes[rate.from].name + matrix.nodes[rate.to].name;
    shares[names] = rate.uplink_share_gbits_per_s;
    means[names] = rate.uplink_mean_gbits_per_s;
  }
  EXPECT_EQ(shares["ab"], 0);
  EXPECT_EQ(shares["ac"], 2.5);
  EXPECT_EQ(shares["db"], 2.5);
  EXPECT_EQ(shares["ad"], 5);
  EXPECT_DOUBLE_EQ(means["ac"], 2.35);
  EXPECT_DOUBLE_EQ(means["ad"], 4.7);
  const std::vector<Blame> blames = FindBlame(matrix);
  EXPECT_THAT(blames, SizeIs(0)) << blames[0].message;
  ApplyBlame(matrix, blames, pair_verdicts_);
  EXPECT_EQ(VerdictOf("a", "c").outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_TRUE(VerdictOf("a", "c").excused());
  EXPECT_THAT(VerdictOf("a", "c").reason(), Said());
  for (const auto& [node, checks] : ByNode()) {
    EXPECT_EQ(OutcomeOf(checks, true), v1::OUTCOME_PASS) << node;
  }
}

TEST_F(PairVerdictTest, SlowPairsThatNobodyExplainsAreUnknown) {
  Pair("a", "b", 9.4, 8.5);
  Pair("b", "a", 8.5, 9.4);
  PairMatrix matrix = MatrixOf({{"a", "", 10}, {"b", "", 10}}, pairs_, {});
  matrix.rates[0].gbits_per_s = 5;
  const std::vector<Blame> blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  ApplyBlame(matrix, blames, pair_verdicts_);
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_UNKNOWN);
}

TEST_F(PairVerdictTest, OfTwoNodesBelowTheFloorNobodyFails) {
  Pair("a", "b", 0.09, 0.09);
  Pair("b", "a", 0.09, 0.09);
  const std::vector<MatrixNode> nodes = {{"a", "", 10}, {"b", "", 10}};
  PairMatrix matrix = MatrixOf(nodes, pairs_, {});
  std::vector<Blame> blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kCannotTell);
  ApplyBlame(matrix, blames, pair_verdicts_);
  for (const auto& [node, checks] : ByNode()) {
    EXPECT_EQ(OutcomeOf(checks, true), v1::OUTCOME_UNKNOWN) << node;
    EXPECT_THAT(checks[0]->reason(), HasSubstr("below the floor of 8 Gbit/s; validate each with a "
                                               "third node"));
    EXPECT_THAT(checks[0]->reason(), HasSubstr("cannot tell whether "));
  }
}

TEST_F(PairVerdictTest, AWrongSpeedTellsWhichOfTwoNodesItIs) {
  Pair("a", "b", 0.09, 0.09);
  Pair("b", "a", 0.09, 0.09);
  v1::CheckResult link;
  v1::Subject& nic = *link.add_subjects();
  nic.set_id("eth0");
  nic.set_kind("nic");
  v1::Fault& fault = *link.add_faults();
  fault.set_code("wrong_speed");
  fault.set_subject("eth0");
  fault.set_message("eth0 runs at 100 Mbit/s");
  const std::vector<NodeResultRef> others = {{"b", &link}};
  const PairMatrix matrix = MatrixOf({{"a", "", 10}, {"b", "", 10}}, pairs_, others);
  ApplyBlame(matrix, FindBlame(matrix), pair_verdicts_);
  EXPECT_EQ(VerdictOf("a", "b").outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(VerdictOf("a", "b").reason(), Said());
  EXPECT_EQ(VerdictOf("b", "a").outcome(), v1::OUTCOME_FAIL);
}

TEST_F(PairVerdictTest, OneSlowPairAmongGoodOnesKeepsNobodyOut) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  for (const std::string& node : names) {
    for (const std::string& partner : names) {
      const bool slow = node < "c" && partner < "c";
      if (node != partner) Pair(node, partner, slow ? 3 : 9.4, slow ? 3.1 : 9.3);
    }
  }
  const PairMatrix matrix = MatrixOf(FourNodes(), pairs_, {});
  ApplyBlame(matrix, FindBlame(matrix), pair_verdicts_);
  EXPECT_EQ(VerdictOf("a", "b").outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(VerdictOf("b", "a").outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(VerdictOf("a", "b").reason(), Said());
  for (const auto& [node, checks] : ByNode()) {
    EXPECT_EQ(OutcomeOf(checks, true), v1::OUTCOME_PASS) << node;
  }
}

// Its rates are as good as all others: only its times accuse it, and its partners as well.
TEST_F(PairVerdictTest, ANodeWhoseTimesAreLongWithAllPartnersIsBlamed) {
  constexpr char kTimes[] =
      "kind: nic\n"
      "match: [ethernet]\n"
      "limits:\n"
      "  - {check: nic-pair, metric: round_trip_p99, unit: µs, ceiling: 500, source: test}\n";
  static constexpr checks::MetricSpec kTimed[] = {
      kPairMetrics[0],
      kPairMetrics[1],
      {"round_trip_p99", "µs", "nic", checks::Better::kLower, ""}};
  static constexpr checks::CheckSpec kTimedPair = {
      "nic-pair", checks::Scope::kPair, checks::Load::kNetwork, {}, kTimed, ""};
  static const checks::CheckSpec* const kTimedCatalog[] = {&kTimedPair};
  const HardwareLibrary ports =
      ParseHardware({{"inventory/hardware/port.yaml", kTimes}}, kTimedCatalog).value();
  const Expectation expectation{
      .hardware = {}, .gpu = nullptr, .nic = ports.Find("nic", "ethernet")};
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  for (const std::string& node : names) {
    for (const std::string& partner : names) {
      if (node == partner) continue;
      Pair(node, partner, 9.4, 9.4);
      AddMetric(results_.back(), "round_trip_p99", "", "eth0", "µs",
                node == "b" || partner == "b" ? 900 : 90);
      verdicts_.back() = JudgeCheck(results_.back(), kTimedPair, expectation, {});
      verdicts_.back().set_partner(partner);
      pairs_.back().spec = &kTimedPair;
    }
  }
  const PairMatrix matrix = MatrixOf(FourNodes(), pairs_, {});
  const std::vector<Blame> blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_THAT(blames[0].nodes, ElementsAre(1u));
  EXPECT_THAT(blames[0].evidence[0], HasSubstr("round_trip_p99 is 900 µs, above the ceiling of"));
  ApplyBlame(matrix, blames, pair_verdicts_);
  for (const auto& [node, checks] : ByNode()) {
    EXPECT_EQ(OutcomeOf(checks, true), node == "b" ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS) << node;
  }
}

TEST_F(PairVerdictTest, RdmaIsJudgedToo) {
  const checks::CheckSpec* const spec = checks::FindCheck("rdma-pair");
  ASSERT_NE(spec, nullptr);
  PairsWithSlowB();
  for (size_t i = 0; i < pairs_.size(); ++i) {
    pairs_[i].spec = spec;
    v1::CheckResult& result = results_[i];
    result.mutable_metrics(0)->set_name("write_receive_gbits");
    result.mutable_metrics(1)->set_name("write_send_gbits");
  }
  const PairMatrix matrix = MatrixOf(FourNodes(), pairs_, {});
  ASSERT_THAT(matrix.rates, SizeIs(12));
  EXPECT_DOUBLE_EQ(matrix.rates[0].gbits_per_s, 3);  // one measurement, as reported by the receiver
  const std::vector<Blame> blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].names[0], "b");
}

TEST_F(PairVerdictTest, AFastPortDoesNotHideASlowOne) {
  PairsWithSlowB();
  for (size_t i = 0; i < pairs_.size(); ++i) {
    pairs_[i].spec = checks::FindCheck("rdma-pair");
    v1::CheckResult& result = results_[i];
    result.mutable_metrics(0)->set_name("write_receive_gbits");
    result.mutable_metrics(1)->set_name("write_send_gbits");
    for (int way : {0, 1}) {
      v1::Metric& second = *result.add_metrics() = result.metrics(way);
      second.set_variant("2");
      second.set_value(9.4);
    }
  }
  const PairMatrix matrix = MatrixOf(FourNodes(), pairs_, {});
  ASSERT_THAT(matrix.rates, SizeIs(24));
  const auto slow = std::count_if(matrix.rates.begin(), matrix.rates.end(),
                                  [](const auto& rate) { return rate.gbits_per_s < 4; });
  EXPECT_EQ(slow, 6);
}

// All have the same Ethernet port, whatever the speed of the ports that are measured.
TEST_F(PairVerdictTest, SlowerInfiniBandIsComparedWithItsLike) {
  for (const bool inventory_knows : {true, false}) {
    SCOPED_TRACE(inventory_knows);
    std::vector<MatrixNode> nodes;
    for (int i = 0; i < 16; ++i) {
      MatrixNode& node = nodes.emplace_back(MatrixNode{absl::StrCat("c", i), "", 10});
      if (inventory_knows) node.rdma_peers = i < 4 ? "infiniband EDR" : "infiniband HDR";
    }
    const auto measure = [&](int broken) {
      pairs_.clear();
      for (int a = 0; a < 16; ++a) {
        for (int b = 0; b < 16; ++b) {
          if (a == b) continue;
          const double gbits = a == broken || b == broken ? 50 : a < 4 || b < 4 ? 97 : 196;
          RdmaPair(nodes[a].name, nodes[b].name,
                   {{"mlx5_0", a < 4 ? "100 Gb/sec (4X EDR)" : "200 Gb/sec (4X HDR)", gbits}});
        }
      }
      return FindBlame(MatrixOf(nodes, pairs_, {}));
    };
    EXPECT_THAT(measure(-1), SizeIs(0));
    const std::vector<Blame> blames = measure(2);
    ASSERT_THAT(blames, SizeIs(1));
    EXPECT_THAT(blames[0].nodes, ElementsAre(2u));
  }
}

TEST_F(PairVerdictTest, ASlowerRailIsComparedWithItsLike) {
  std::vector<MatrixNode> nodes = FourNodes();
  for (MatrixNode& node : nodes) node.rdma_peers = "infiniband NDR";
  const auto measure = [&](bool b_came_up_slow) {
    pairs_.clear();
    for (const MatrixNode& node : nodes) {
      for (const MatrixNode& partner : nodes) {
        if (node.name == partner.name) continue;
        const bool slow = b_came_up_slow && (node.name == "b" || partner.name == "b");
        const bool is_b = b_came_up_slow && node.name == "b";
        RdmaPair(
            node.name, partner.name,
            {{"mlx5_0", "400 Gb/sec (4X NDR)", 390},
             {"mlx5_1", is_b ? "200 Gb/sec (4X HDR)" : "400 Gb/sec (4X NDR)", slow ? 195.0 : 390.0},
             {"mlx5_2", "200 Gb/sec (4X HDR)", 195}});
      }
    }
    return FindBlame(MatrixOf(nodes, pairs_, {}));
  };
  EXPECT_THAT(measure(false), SizeIs(0));
  // A link that came up too slow does not get away with it.
  const std::vector<Blame> blames = measure(true);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_THAT(blames[0].names, ElementsAre("b", "mlx5_1"));
}

TEST_F(PairVerdictTest, SlowerEthernetThatTheInventoryDoesNotKnowIsComparedWithItsLike) {
  std::vector<MatrixNode> nodes;
  for (int i = 0; i < 10; ++i) nodes.push_back({absl::StrCat("c", i), ""});
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      if (a == b) continue;
      const double gbits = a < 4 || b < 4 ? 0.94 : 9.4;
      Pair(nodes[a].name, nodes[b].name, gbits, gbits);
      pairs_.back().verdict = nullptr;
      (*results_.back().mutable_subjects(0)->mutable_attributes())["speed_mbits"] =
          a < 4 ? "1000" : "10000";
    }
  }
  EXPECT_THAT(FindBlame(MatrixOf(nodes, pairs_, {})), SizeIs(0));
}

// A few nodes, and enough that a fifth of the rates is what one of them has.
TEST_F(PairVerdictTest, RatesThatOneNodeInventsPutNoOtherOutOfService) {
  for (const size_t count : {3u, 4u, 7u}) {
    SCOPED_TRACE(count);
    pairs_.clear();
    pair_verdicts_.clear();
    std::vector<MatrixNode> nodes;
    for (size_t i = 0; i < count; ++i) nodes.push_back({absl::StrCat("c", i), "sw", 10});
    for (const MatrixNode& node : nodes) {
      for (const MatrixNode& partner : nodes) {
        if (node.name == partner.name) continue;
        Pair(node.name, partner.name, 9.4, 9.4);
        if (node.name != "c0") continue;
        for (int i = 0; i < 1000; ++i) {
          for (const char* metric : {"receive_gbits", "send_gbits"}) {
            AddMetric(results_.back(), metric, absl::StrCat("invented ", i), "eth0", "Gbit/s", 1e6);
          }
        }
      }
    }
    const PairMatrix matrix = MatrixOf(nodes, pairs_, {});
    // With each partner 32 of either direction, of which one was measured.
    EXPECT_THAT(matrix.rates, SizeIs(count * (count - 1) + (count - 1) * 2 * 31));
    const std::vector<Blame> blames = FindBlame(matrix);
    EXPECT_THAT(blames, SizeIs(0)) << blames[0].message;
    ApplyBlame(matrix, blames, pair_verdicts_);
    for (const auto& [node, checks] : ByNode()) {
      if (node == "c0") continue;
      EXPECT_EQ(OutcomeOf(checks, true), v1::OUTCOME_PASS) << node;
    }
  }
}

TEST(PortFaults, KeepsFewOfWhatANodeInvents) {
  v1::CheckResult result;
  for (int i = 0; i < 1000; ++i) {
    v1::Subject& nic = *result.add_subjects();
    nic.set_id(absl::StrCat("eth", i));
    nic.set_kind("nic");
    for (const char* port : {"eth0", nic.id().c_str()}) {
      v1::Fault& fault = *result.add_faults();
      fault.set_code("link_flapped");
      fault.set_subject(port);
      fault.set_message(absl::StrCat("flapped ", i));
    }
  }
  PortFaults faults;
  faults.Add("a", result);
  ASSERT_NE(faults.Of("a"), nullptr);
  EXPECT_THAT(*faults.Of("a"), SizeIs(256));
  EXPECT_THAT(faults.Of("a")->front().link, SizeIs(20));
}

}  // namespace
}  // namespace muster::controller::validation
