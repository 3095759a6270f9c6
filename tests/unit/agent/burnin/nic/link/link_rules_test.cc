#include "agent/burnin/nic/link/link_rules.h"

#include <gmock/gmock.h>

#include "agent/burnin/nic/nic_checks.h"
#include "tests/fixtures/burnin_ranks.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MetricOf;

LinkReading Good() {
  return {.state = {.name = "eth0",
                    .operstate = "up",
                    .carrier = true,
                    .speed_mbits = 10000,
                    .duplex = "full",
                    .mtu = 1500,
                    .carrier_changes = 2,
                    .counters = {{"rx_crc_errors", 3}, {"rx_dropped", 7}, {"rx_errors", 3}},
                    .pcie = PcieLink{8, 8},
                    .pcie_possible = PcieLink{8, 8}},
          .damaged_frames = 3};
}

std::vector<std::string> CodesOf(const CheckResult& result) {
  std::vector<std::string> codes;
  for (const Fault& fault : result.faults) codes.push_back(fault.code);
  return codes;
}

CheckResult Judge(const LinkReading& after, const LinkExpectation& expectation = {}) {
  CheckResult result;
  JudgeLink(Good(), after, expectation, result);
  return result;
}

TEST(LinkRulesTest, AGoodLinkHasMetricsAlone) {
  const CheckResult result = Judge(Good(), {.speed_mbits = 10000, .mtu = 1500, .must_be_up = true});
  EXPECT_THAT(CodesOf(result), IsEmpty());
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_EQ(MetricOf(result, "speed_mbits"), 10000);
  EXPECT_EQ(MetricOf(result, "rx_crc_errors"), 0) << "counted before the test";
  EXPECT_EQ(MetricOf(result, "rx_dropped"), 0);
  EXPECT_EQ(MetricOf(result, "pcie_width"), 8);
}

TEST(LinkRulesTest, WhatIsNotAsExpectedIsAFault) {
  struct Case {
    const char* code;
    void (*change)(LinkReading&);
  };
  const Case cases[] = {
      {"wrong_speed", [](LinkReading& after) { after.state.speed_mbits = 1000; }},
      {"wrong_mtu", [](LinkReading& after) { after.state.mtu = 9000; }},
      {"half_duplex", [](LinkReading& after) { after.state.duplex = "half"; }},
      {"link_down",
       [](LinkReading& after) {
         after.state.operstate = "down";
         after.state.carrier.reset();
       }},
      {"link_flapped", [](LinkReading& after) { after.state.carrier_changes = 4; }},
      {"crc_errors", [](LinkReading& after) { after.state.counters["rx_crc_errors"] = 4; }},
      {"crc_errors", [](LinkReading& after) { after.damaged_frames = 9; }},
      {"pcie_degraded", [](LinkReading& after) { after.state.pcie->width = 4; }},
      {"pcie_degraded", [](LinkReading& after) { after.state.pcie->speed_gts = 2.5; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.code);
    LinkReading after = Good();
    c.change(after);
    const CheckResult result =
        Judge(after, {.speed_mbits = 10000, .mtu = 1500, .must_be_up = true});
    EXPECT_THAT(CodesOf(result), ElementsAre(c.code));
    EXPECT_EQ(result.faults[0].subject, "eth0");
  }
}

TEST(LinkRulesTest, WithoutExpectationsAnySpeedIsRight) {
  LinkReading after = Good();
  after.state.speed_mbits = 100;
  after.state.mtu = 9000;
  EXPECT_THAT(CodesOf(Judge(after)), IsEmpty());
}

TEST(LinkRulesTest, AnExpectedSpeedThatIsNotToldIsUnknown) {
  LinkReading after = Good();
  after.state.speed_mbits.reset();
  const CheckResult result = Judge(after, {.speed_mbits = 10000});
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
}

TEST(LinkRulesTest, CountersThatGoBackAreUnknown) {
  LinkReading after = Good();
  after.state.counters["rx_dropped"] = 0;
  EXPECT_EQ(Judge(after).outcome, Outcome::kUnknown);
}

TEST(NicLinkTest, LooksAtTheInterfacesThatAreNamed) {
  const checks::CheckSpec& spec = *checks::FindCheck("nic-link");
  const CheckResult lo =
      testing::RunRanks(spec, RunNicLink, {{"interfaces", "lo"}, {"duration", "100ms"}}, {""})[0];
  EXPECT_EQ(lo.outcome, Outcome::kPass) << lo.reason;
  EXPECT_EQ(MetricOf(lo, "mtu"), 65536);
  const CheckResult none = testing::RunRanks(
      spec, RunNicLink, {{"interfaces", "nosuchlink0"}, {"duration", "100ms"}}, {""})[0];
  EXPECT_EQ(none.outcome, Outcome::kFail);
  EXPECT_THAT(CodesOf(none), ElementsAre("missing_device"));
}

}  // namespace
}  // namespace muster::burnin
