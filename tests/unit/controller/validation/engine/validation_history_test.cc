// What a node's earlier results mean for its next ones.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ValidationHistoryTest : public ValidationEngineTest {
 protected:
  ValidationHistoryTest() {
    inventory_ = std::make_shared<const Inventory>(
        ParseInventory({{"cluster.yaml",
                         "cluster: test\n"
                         "nodes: {c001: {role: compute, vars: {gpu_model: Test GPU}}}\n"}})
            .value());
    site_["inventory/hardware/test.yaml"] =
        "kind: gpu\nmatch: [Test GPU]\nlimits:\n"
        "  - {check: probe, metric: rate, unit: GB/s, floor: 5, peak: 20, source: test}\n";
    site_["playbooks/suites/long.yaml"] =
        "name: long\ndescription: d\nstages:\n"
        "  - name: s\n    checks: [{check: probe, time_limit: 9m, with: {duration: 3m}}]\n";
  }

  // The node's measurements from now on.
  struct Measures {
    std::string suite = "probe";
    std::string power_limit = "250";
    std::string engine = "cublas 11.11.3";
  };

  // The verdict on the node when its next probe measures `rate`, for its GPU and in total.
  v1::CheckVerdict Judge(double rate, const Measures& measures) {
    const std::string id = Create(measures.suite, "c001").value();
    v1::CheckReport report;
    report.set_check_id(Only("u-c001").start_check().check_id());
    v1::CheckResult& result = *report.mutable_result();
    result.set_check("probe");
    result.set_outcome(v1::OUTCOME_PASS);
    result.add_tools(measures.engine);
    v1::Subject& gpu = *result.add_subjects();
    gpu.set_id("GPU-1");
    gpu.set_kind("gpu");
    gpu.set_model("Test GPU");
    (*gpu.mutable_attributes())["power_limit_watts"] = measures.power_limit;
    for (const std::string& subject : {std::string(), gpu.id()}) {
      v1::Metric& metric = *result.add_metrics();
      metric.set_name("rate");
      metric.set_unit("GB/s");
      metric.set_subject(subject);
      metric.set_value(rate);
    }
    engine_->OnReport("u-c001", report);
    SettleWithFacts();
    sessions_.Take("u-c001");
    clock_.Advance(absl::Hours(1));
    const v1::Validation done = engine_->Get(id).value();
    EXPECT_THAT(done.nodes(0).checks(), SizeIs(1));
    return done.nodes(0).checks(0);
  }
  v1::CheckVerdict Judge(double rate) { return Judge(rate, Measures()); }

  // Results under `other` circumstances begin a separate history, in which the next one is judged.
  void ExpectHistoryOfItsOwn(const Measures& other) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(Judge(10).outcome(), v1::OUTCOME_PASS);
    for (int i = 0; i < 5; ++i) {
      const v1::CheckVerdict verdict = Judge(7, other);
      EXPECT_EQ(verdict.outcome(), v1::OUTCOME_PASS) << i << ": " << verdict.reason();
      // It passes without findings, like that of a new node.
      for (const v1::Finding& finding : verdict.findings()) {
        EXPECT_THAT(finding.source(), Not(HasSubstr("own history")));
      }
    }
    const v1::CheckVerdict worse = Judge(6, other);
    EXPECT_EQ(worse.outcome(), v1::OUTCOME_FAIL);
    EXPECT_THAT(worse.reason(), Said());
    // Returning leads into the old history.
    EXPECT_EQ(Judge(10).outcome(), v1::OUTCOME_PASS);
    EXPECT_THAT(Judge(7).reason(), Said());
  }
};

TEST_F(ValidationHistoryTest, ALongBurnIsNotHeldAgainstShortOnes) {
  ExpectHistoryOfItsOwn({.suite = "long"});
}

TEST_F(ValidationHistoryTest, ALowerPowerLimitLocksNobodyOut) {
  ExpectHistoryOfItsOwn({.power_limit = "200"});
}

TEST_F(ValidationHistoryTest, AnotherEngineLocksNobodyOut) {
  ExpectHistoryOfItsOwn({.engine = "own kernel sm_75"});
}

// Each time it loses 2 %: it is never far from its newest results.
TEST_F(ValidationHistoryTest, ASlowDeclineIsHeldAgainstTheFirstResults) {
  double rate = 10;
  v1::CheckVerdict verdict;
  int passes = 0;
  for (; passes < 40; ++passes, rate *= 0.98) {
    verdict = Judge(rate);
    if (verdict.outcome() == v1::OUTCOME_FAIL) break;
  }
  EXPECT_THAT(verdict.reason(), Said());
  ASSERT_GT(verdict.findings_size(), 0);
  EXPECT_EQ(verdict.findings(verdict.findings_size() - 1).source(),
            "own history, the first 5 results, ± 5 MAD, at least 10 %");
  // 5 MAD of five values that are 2 % apart are 15 %, from the third on.
  EXPECT_GE(passes, 7);
  EXPECT_LE(passes, 12);
}

// The oldest stored results are from another driver; so are, for some time, those of 30 results
// ago.
TEST_F(ValidationHistoryTest, AfterAChangeTheFirstResultsAreThoseOfLongAgo) {
  for (int i = 0; i < 6; ++i) Judge(12);
  const Measures now = {.engine = "own kernel sm_75"};
  for (int i = 0; i < 30; ++i) EXPECT_EQ(Judge(10, now).outcome(), v1::OUTCOME_PASS);
  double rate = 10;
  int passes = 0;
  while (passes < 40 && Judge(rate, now).outcome() == v1::OUTCOME_PASS) {
    rate *= 0.99;
    ++passes;
  }
  EXPECT_GE(passes, 10);
  EXPECT_LE(passes, 12);
}

TEST_F(ValidationHistoryTest, AValueBelowItsFloorIsNoMeasureForLaterOnes) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Judge(10).outcome(), v1::OUTCOME_PASS);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Judge(1).outcome(), v1::OUTCOME_FAIL);
  const v1::CheckVerdict verdict = Judge(6);
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdict.reason(), Said());
}

TEST_F(ValidationHistoryTest, AValueThatFailedBesideEarlierOnesIsNoMeasureEither) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Judge(10).outcome(), v1::OUTCOME_PASS);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Judge(6).outcome(), v1::OUTCOME_FAIL) << i;
  EXPECT_EQ(Judge(10).outcome(), v1::OUTCOME_PASS);
}

}  // namespace
}  // namespace muster::controller::validation
