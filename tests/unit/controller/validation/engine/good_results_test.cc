#include "controller/validation/engine/good_results.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/checks/catalog.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "controller/validation/verdict/result_blob.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 15), absl::UTCTimeZone());

// A validation with one check of one node.
struct Stored {
  std::string id = "v-1";
  std::string node = "c1";
  std::string partner;
  double value = 100;
  v1::Outcome check = v1::OUTCOME_PASS;
  v1::Outcome of_node = v1::OUTCOME_PASS;
  ValidationRecord::State state = ValidationRecord::kDone;
  std::string suite = "acceptance";
  absl::Time time = kNow;
  int copies = 1;  // checks of other GPUs of the node
  std::string parameters_digest;
};

class GoodResultsTest : public ::testing::Test {
 protected:
  GoodResultsTest()
      : store_(OpenStore(":memory:").value()),
        inventory_(ParseInventory({{"cluster.yaml",
                                    "cluster: x\n"
                                    "nodes:\n"
                                    "  \"c[1-4]\": {role: compute}\n"
                                    "  slow: {role: compute, vars: {network_gbits_per_s: 1}}\n"
                                    "vars: {network_gbits_per_s: 10}\n"}})
                       .value()) {}

  void Put(const Stored& stored) {
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ValidationRecord validation;
      validation.validation_id = stored.id;
      validation.state = stored.state;
      validation.suite = stored.suite;
      validation.created_at = stored.time;
      RETURN_IF_ERROR(txn.validations().Put(validation));
      RETURN_IF_ERROR(txn.validations().PutNode({stored.id, stored.node, "u", stored.of_node, ""}));
      for (int i = 0; i < stored.copies; ++i) {
        const bool pair = !stored.partner.empty();
        ValidationCheckRecord check;
        check.check_id = absl::StrCat(stored.id, "/", i, "/", stored.node);
        check.validation_id = stored.id;
        check.node = stored.node;
        check.members = pair ? absl::StrCat(stored.node, " ", stored.partner) : stored.node;
        check.name = pair ? "nic-pair" : "gpu-gemm";
        check.phase = 2;
        check.outcome = stored.check;
        check.parameters_digest = stored.parameters_digest;
        RETURN_IF_ERROR(txn.validation_checks().Put(check));
        v1::CheckResult result;
        v1::Subject& subject = *result.add_subjects();
        subject.set_id(pair ? "eth0" : absl::StrCat("GPU-", stored.node, "-", i));
        subject.set_kind(pair ? "nic" : "gpu");
        subject.set_model(pair ? "ixgbe" : "NVIDIA L4");
        if (pair) (*subject.mutable_attributes())["speed_mbits"] = "10000";
        v1::Metric& metric = *result.add_metrics();
        metric.set_name(pair ? "receive_gbits" : "tflops_median");
        metric.set_unit(pair ? "Gbit/s" : "TFLOPS");
        metric.set_subject(subject.id());
        metric.set_value(stored.value);
        RETURN_IF_ERROR(
            txn.validation_checks().PutResult({check.check_id, stored.time, PackResult(result)}));
      }
      return absl::OkStatus();
    }));
  }

  absl::Status Read(FloorLearner& learner, const std::string& suite = "",
                    absl::Time since = kNow - absl::Hours(24),
                    std::function<bool()> is_cancelled = nullptr) {
    notes_.clear();
    return ReadGoodResults(*store_, inventory_, checks::Checks(),
                           {suite, since, std::move(is_cancelled)}, learner, notes_);
  }
  // The lowest learned value; 0: none.
  double Least(const std::string& suite = "", absl::Time since = kNow - absl::Hours(24)) {
    FloorLearner learner;
    EXPECT_OK(Read(learner, suite, since));
    const std::vector<LearnedMetric> learned = learner.Learned();
    return learned.empty() ? 0 : learned[0].populations[0].worst;
  }

  std::unique_ptr<Store> store_;
  const Inventory inventory_;
  std::vector<std::string> notes_;
};

TEST_F(GoodResultsTest, AreOfChecksAndNodesThatPassed) {
  Put({.id = "v-1", .value = 100});
  Put({.id = "v-2", .value = 1, .check = v1::OUTCOME_FAIL, .of_node = v1::OUTCOME_FAIL});
  Put({.id = "v-3", .value = 2, .of_node = v1::OUTCOME_FAIL});
  Put({.id = "v-4", .value = 3, .check = v1::OUTCOME_UNKNOWN});
  Put({.id = "v-5", .value = 4, .of_node = v1::OUTCOME_UNKNOWN});
  Put({.id = "v-6", .value = 5, .state = ValidationRecord::kRunning});
  Put({.id = "v-7", .value = 6, .state = ValidationRecord::kCancelled});
  EXPECT_DOUBLE_EQ(Least(), 100);
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(GoodResultsTest, AreOfTheSuiteAndTheTimeThatIsAskedFor) {
  Put({.id = "v-old", .value = 1, .time = kNow - absl::Hours(48)});
  Put({.id = "v-1", .value = 100});
  Put({.id = "v-2", .value = 50, .suite = "quick"});
  EXPECT_DOUBLE_EQ(Least(), 50);
  EXPECT_DOUBLE_EQ(Least("acceptance"), 100);
  EXPECT_DOUBLE_EQ(Least("acceptance", kNow - absl::Hours(72)), 1);
  EXPECT_DOUBLE_EQ(Least("burnin"), 0);
}

TEST_F(GoodResultsTest, OfOtherParametersAreKeptApart) {
  Put({.id = "v-1", .value = 100, .parameters_digest = "quick"});
  Put({.id = "v-2", .value = 50, .parameters_digest = "long"});
  Put({.id = "v-3", .value = 60, .parameters_digest = "long"});
  FloorLearner learner;
  ASSERT_OK(Read(learner));
  ASSERT_THAT(learner.Learned(), SizeIs(1));
  EXPECT_THAT(learner.Learned()[0].populations, SizeIs(2));
}

TEST_F(GoodResultsTest, BetweenTwoNodesTheSlowerPortDecides) {
  Put({.id = "v-1", .partner = "c2", .value = 9.4});
  Put({.id = "v-2", .partner = "slow", .value = 0.9});
  EXPECT_DOUBLE_EQ(Least(), 9.4);
  // The port of `slow` did not have 1 Gbit/s.
  Put({.id = "v-3", .node = "slow", .partner = "slow", .value = 9});
  EXPECT_DOUBLE_EQ(Least(), 9.4);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("slow: network_gbits_per_s")));
  // A node that is no longer in the inventory has no known port.
  Put({.id = "v-4", .node = "gone", .partner = "gone", .value = 1});
  EXPECT_DOUBLE_EQ(Least(), 9.4);
}

TEST_F(GoodResultsTest, AreReadPageByPage) {
  Put({.id = "v-1", .copies = 200});
  Put({.id = "v-2", .node = "c2", .copies = 128});
  FloorLearner learner;
  ASSERT_OK(Read(learner));
  EXPECT_EQ(learner.results(), 328u);
  EXPECT_EQ(learner.nodes(), 2u);
  ASSERT_THAT(learner.Learned(), SizeIs(1));
  EXPECT_THAT(learner.Learned()[0].populations[0].subjects, SizeIs(328));
  int asked = 0;
  FloorLearner stopped;
  EXPECT_THAT(Read(stopped, "", kNow - absl::Hours(1), [&] { return ++asked > 2; }),
              StatusIs(absl::StatusCode::kCancelled, Said()));
  EXPECT_GT(stopped.results(), 0u);
  EXPECT_LT(stopped.results(), 328u);
}

}  // namespace
}  // namespace muster::controller::validation
