// What a node's earlier results say of its next ones.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::testing::HasSubstr;
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
  }

  // What is said of the node when its next probe measures `rate`.
  v1::CheckVerdict Judge(double rate) {
    const std::string id = Create("probe", "c001").value();
    Report("u-c001", Only("u-c001").start_check().check_id(), v1::OUTCOME_PASS, "", rate);
    sessions_.Take("u-c001");
    clock_.Advance(absl::Hours(1));
    const v1::Validation done = engine_->Get(id).value();
    EXPECT_THAT(done.nodes(0).checks(), SizeIs(1));
    return done.nodes(0).checks(0);
  }
};

TEST_F(ValidationHistoryTest, AValueBelowItsFloorIsNoMeasureForLaterOnes) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Judge(10).outcome(), v1::OUTCOME_PASS);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Judge(1).outcome(), v1::OUTCOME_FAIL);
  const v1::CheckVerdict verdict = Judge(6);
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdict.reason(), HasSubstr("median 10"));
}

TEST_F(ValidationHistoryTest, AValueThatFailedBesideEarlierOnesIsNoMeasureEither) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Judge(10).outcome(), v1::OUTCOME_PASS);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Judge(6).outcome(), v1::OUTCOME_FAIL) << i;
  EXPECT_EQ(Judge(10).outcome(), v1::OUTCOME_PASS);
}

}  // namespace
}  // namespace muster::controller::validation
