#include "controller/validation/judge/judge_validation.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/controller/validation/verdict_fixture.h"

namespace muster::controller::validation {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Nodes that have run gpu-gemm.
class JudgeValidationTest : public VerdictTest {
 protected:
  JudgeValidationTest() {
    check_.spec = &kGemm;
    ended_.suite = "acceptance";
  }

  void AddEnded(const v1::CheckResult& result) {
    const std::string name = absl::StrCat("c", ended_.nodes.size());
    ended_.nodes.push_back(
        {name, absl::StrCat("u-", name), false, FoundHardware(), FoundHardware()});
    CheckPart& part = parts_.emplace_back();
    part.check_id = absl::StrCat("v/0.0.0.0/", name);
    part.execution_id = part.check_id;
    part.node = name;
    part.members = std::make_shared<const std::vector<std::string>>(1, name);
    part.phase = PartPhase::kEnded;
    const Measurement measurement = {name, "burn", &kGemm, &result, &expectation_, ""};
    EndedCheck& check = checks_.emplace_back();
    check = {&part, &check_, "burn", JudgeResult(measurement, check_, nullptr)};
    check.verdict.set_stage("burn");
    part.outcome = ToPartOutcome(check.verdict.outcome());
    comparisons_.Add({&part, "burn", &check_, "", &expectation_, &check.verdict, &result});
  }
  ValidationVerdicts Judge() { return JudgeValidation(ended_, checks_, comparisons_); }

  SuiteCheck check_;
  EndedValidation ended_;
  std::deque<CheckPart> parts_;
  std::vector<EndedCheck> checks_;
  Comparisons comparisons_{{}};
};

TEST_F(JudgeValidationTest, AnOutlierFailsThoughItPassedByItself) {
  for (int i = 0; i < 4; ++i) AddEnded(i == 2 ? Result(50, 45) : Result());
  const ValidationVerdicts verdicts = Judge();
  ASSERT_THAT(verdicts.nodes, SizeIs(4));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(verdicts.nodes[i].node(), absl::StrCat("c", i));
    EXPECT_EQ(verdicts.nodes[i].outcome(), i == 2 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS) << i;
  }
  EXPECT_EQ(verdicts.passed, 3);
  EXPECT_EQ(verdicts.failed, 1);
  EXPECT_EQ(verdicts.unknown, 0);
  ASSERT_THAT(verdicts.rejudged, SizeIs(1));
  EXPECT_EQ(verdicts.rejudged[0].first, &parts_[2]);
  EXPECT_EQ(verdicts.rejudged[0].second, v1::OUTCOME_FAIL);
}

// A pass applies to what was tested.
TEST_F(JudgeValidationTest, OnlyTheMachineThatWasTestedPasses) {
  for (int i = 0; i < 3; ++i) AddEnded(Result());
  ended_.nodes[0].at_start->kernel = "6.1";
  ended_.nodes[0].at_end->kernel = "6.2";
  ended_.nodes[1].at_end.reset();
  const ValidationVerdicts verdicts = Judge();
  EXPECT_EQ(verdicts.nodes[0].outcome(), v1::OUTCOME_UNKNOWN);
  ASSERT_THAT(verdicts.nodes[0].checks(), SizeIs(2));
  EXPECT_EQ(verdicts.nodes[0].checks(1).check(), "same-machine");
  EXPECT_EQ(verdicts.nodes[1].outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(verdicts.nodes[2].outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdicts.unknown, 2);
}

TEST_F(JudgeValidationTest, NothingPassesOfWhatWasCancelled) {
  AddEnded(Result());
  AddEnded(Result(50, 39));  // below its floor
  ended_.complete = false;
  const ValidationVerdicts verdicts = Judge();
  EXPECT_EQ(verdicts.nodes[0].outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(verdicts.nodes[1].outcome(), v1::OUTCOME_FAIL);
}

TEST_F(JudgeValidationTest, AWitnessIsNotJudged) {
  AddEnded(Result(50, 39));
  ended_.nodes[0].is_witness = true;
  const ValidationVerdicts verdicts = Judge();
  EXPECT_EQ(verdicts.nodes[0].outcome(), v1::OUTCOME_UNSPECIFIED);
  EXPECT_TRUE(verdicts.nodes[0].is_witness());
  EXPECT_EQ(verdicts.failed, 0);
}

// As after a restart with a suite that is lost.
TEST_F(JudgeValidationTest, ChecksThatAreNotKnownAnyMoreAreNotCompared) {
  for (int i = 0; i < 4; ++i) AddEnded(Result());
  for (EndedCheck& check : checks_) check.check = nullptr;
  checks_[1].verdict.set_outcome(v1::OUTCOME_FAIL);
  Comparisons nothing({});
  const ValidationVerdicts verdicts = JudgeValidation(ended_, checks_, nothing);
  EXPECT_EQ(verdicts.failed, 1);
  EXPECT_EQ(verdicts.passed, 3);
}

TEST(JudgeResult, AnRdmaCardThatFellOffIsNotSkipped) {
  static constexpr checks::CheckSpec kRdma = {
      "rdma-pair", checks::Scope::kPair, checks::Load::kNetwork, {}, {}, ""};
  v1::CheckResult result;
  result.set_check("rdma-pair");
  result.set_outcome(v1::OUTCOME_SKIPPED);
  result.set_reason("no device");
  const Expectation expectation;
  const Measurement measurement = {"c1", "net", &kRdma, &result, &expectation, ""};
  SuiteCheck check;
  check.spec = &kRdma;
  EXPECT_EQ(JudgeResult(measurement, check, nullptr).outcome(), v1::OUTCOME_SKIPPED);
  check.when = {Condition::kRdma};
  const v1::CheckVerdict verdict = JudgeResult(measurement, check, nullptr);
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(verdict.reason(), HasSubstr("had an RDMA port when its validation was created"));
  EXPECT_THAT(verdict.reason(), HasSubstr("no device"));
}

TEST(JudgeValidation, OfPairsThatPassedSomeAreEnough) {
  v1::NodeVerdict node;
  for (int i = 0; i < 300; ++i) {
    v1::CheckVerdict& check = *node.add_checks();
    check.set_partner("c" + std::to_string(i));
    check.set_outcome(i % 100 == 0 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
  }
  node.add_checks()->set_outcome(v1::OUTCOME_PASS);  // not a pair
  LeaveOutPassedPairs(node);
  ASSERT_THAT(node.checks(), SizeIs(kMaxPassedPairs + 3 + 1));
  int failed = 0;
  for (const v1::CheckVerdict& check : node.checks()) failed += check.outcome() == v1::OUTCOME_FAIL;
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(node.checks(node.checks_size() - 1).partner(), "");
}

}  // namespace
}  // namespace muster::controller::validation
