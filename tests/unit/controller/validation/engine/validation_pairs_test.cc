// The engine's conclusions from pairs when a validation ends.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/validation/engine/validation_engine.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class ValidationPairsTest : public ValidationEngineTest {
 protected:
  // The requested node's side of a pair: the rate that it received from its partner.
  void ReportPair(const std::string& uuid, double gbits) {
    const std::vector<v1::ControllerMessage> messages = sessions_.Take(uuid);
    ASSERT_FALSE(messages.empty()) << uuid;
    v1::CheckReport report;
    report.set_check_id(messages.back().start_check().check_id());
    v1::CheckResult& result = *report.mutable_result();
    result.set_check("link");
    result.set_outcome(v1::OUTCOME_PASS);
    result.add_subjects()->set_id("eth0");
    result.mutable_subjects(0)->set_kind("nic");
    v1::Metric& metric = *result.add_metrics();
    metric.set_name("receive_gbits");
    metric.set_subject("eth0");
    metric.set_unit("Gbit/s");
    metric.set_value(gbits);
    engine_->OnReport(uuid, report);
  }
  // A ring of the two, with the rate of its links.
  void ReportRing(const std::string& uuid) {
    const std::vector<v1::ControllerMessage> messages = sessions_.Take(uuid);
    ASSERT_FALSE(messages.empty()) << uuid;
    v1::CheckReport report;
    report.set_check_id(messages.back().start_check().check_id());
    v1::CheckResult& result = *report.mutable_result();
    result.set_check("ring");
    result.set_outcome(v1::OUTCOME_PASS);
    for (const auto& [name, value] :
         {std::pair("ranks", 2.0), std::pair("all_reduce_ms", 100.0), std::pair("algbw", 0.8),
          std::pair("busbw", 0.8), std::pair("hop_latency", 10.0)}) {
      v1::Metric& metric = *result.add_metrics();
      metric.set_name(name);
      metric.set_value(value);
    }
    engine_->OnReport(uuid, report);
  }
};

// Compared with pairs that were measured before it; those of a later check do not count.
TEST_F(ValidationPairsTest, ARingIsSetBesideThePairsBeforeIt) {
  site_["playbooks/suites/ring.yaml"] =
      "name: ring\ndescription: d\nstages:\n"
      "  - {name: pairs, checks: [{check: link, time_limit: 60s}]}\n"
      "  - {name: all, checks: [{check: ring, time_limit: 60s}]}\n"
      "  - {name: again, checks: [{check: link, time_limit: 60s}]}\n"
      "  - {name: last, checks: [{check: ring, time_limit: 60s}]}\n";
  const std::string id = Create("ring").value();
  for (const double slowest : {8.0, 9.0}) {
    ReportPair("u-c001", 9.4);
    ReportPair("u-c002", slowest);
    SettleWithFacts();
    ReportRing("u-c001");
    ReportRing("u-c002");
    SettleWithFacts();
  }
  const v1::Validation done = engine_->Get(id).value();
  ASSERT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  ASSERT_THAT(done.rings(), SizeIs(2));
  EXPECT_EQ(done.rings(0).stage(), "all");
  EXPECT_EQ(done.rings(0).slowest_pair_gbits_per_s(), 8);
  EXPECT_EQ(done.rings(0).slowest_from(), "c001");
  EXPECT_NEAR(done.rings(0).link_gbits_per_s(), 6.4, 1e-9);
  EXPECT_EQ(done.rings(1).stage(), "last");
  EXPECT_EQ(done.rings(1).slowest_pair_gbits_per_s(), 9);
}

// A rate of one of them does not count for the other, and does not replace it.
TEST_F(ValidationPairsTest, OneCheckTwiceInASuiteIsJudgedTwice) {
  site_["playbooks/suites/twice.yaml"] =
      "name: twice\ndescription: d\nstages:\n"
      "  - {name: one, checks: [{check: link, time_limit: 60s}]}\n"
      "  - {name: two, checks: [{check: link, time_limit: 60s}]}\n";
  const std::string id = Create("twice").value();
  ReportPair("u-c001", 9.4);
  ReportPair("u-c002", 3);
  SettleWithFacts();
  ReportPair("u-c001", 9.4);
  ReportPair("u-c002", 9.4);
  SettleWithFacts();
  const v1::Validation done = engine_->Get(id).value();
  ASSERT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  ASSERT_THAT(done.blames(), SizeIs(1));
  EXPECT_EQ(done.blames(0).kind(), "cannot_tell");
  EXPECT_THAT(done.blames(0).evidence(), ElementsAre("from c001 to c002: 3 Gbit/s"));
}

// Equally slow both ways: neither rate shows which node it is, and neither is quarantined for it.
TEST_F(ValidationPairsTest, OfTwoNodesBelowTheFloorNeitherFails) {
  inventory_ = std::make_shared<const Inventory>(
      ParseInventory({{"cluster.yaml",
                       "cluster: test\n"
                       "nodes:\n"
                       "  \"c[001-002]\": {role: compute, vars: {network_gbits_per_s: 10}}\n"}})
          .value());
  site_["inventory/hardware/port.yaml"] =
      "kind: nic\nmatch: [ethernet 10 Gbit/s]\nlimits:\n"
      "  - {check: link, metric: receive_gbits, unit: Gbit/s, floor: 8, peak: 10, source: test}\n";
  const std::string id = Create("link").value();
  ReportPair("u-c001", 0.09);
  ReportPair("u-c002", 0.09);
  SettleWithFacts();
  const v1::Validation done = engine_->Get(id).value();
  ASSERT_THAT(done.nodes(), SizeIs(2));
  for (const v1::NodeVerdict& node : done.nodes()) {
    EXPECT_EQ(node.outcome(), v1::OUTCOME_UNKNOWN) << node.DebugString();
    EXPECT_THAT(node.checks(0).reason(), Said());
  }
  EXPECT_EQ(gate_.judged["u-c001"], v1::OUTCOME_UNKNOWN);
  ASSERT_THAT(done.blames(), SizeIs(1));
  EXPECT_EQ(done.blames(0).kind(), "cannot_tell");
}

}  // namespace
}  // namespace muster::controller::validation
