#include "controller/validation/judge/history.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/validation/verdict/circumstances.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/validation/verdict_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::Contains;

std::vector<double> NoValues(const EarlierQuery&) { return {}; }
EarlierPass NoPass(const Measurement&) { return {}; }

class GoneDevicesTest : public VerdictTest {
 protected:
  // Removes g1 from the result of c0.
  void Lose() {
    v1::CheckResult result;
    result.set_check("gpu-gemm");
    result.set_outcome(v1::OUTCOME_PASS);
    AddGpu(result, "g0", 50);
    AddNode(result);
  }
  // Both, as found by the worker itself.
  void LoseAll(const char* code) {
    v1::CheckResult result;
    result.set_check("gpu-gemm");
    result.set_outcome(v1::OUTCOME_FAIL);
    result.add_faults()->set_code(code);
    AddNode(result);
  }
  void JudgeAgainst(const v1::CheckResult* earlier) {
    const auto newest = [&](const Measurement& measurement) {
      EXPECT_EQ(measurement.node, "c0");
      return EarlierPass{earlier, absl::FromUnixSeconds(1'795'270'295)};
    };
    JudgeHistory(judged_[0].measurement, {NoValues, newest}, verdicts_[0]);
  }
  std::vector<v1::Finding> Gone() const {
    std::vector<v1::Finding> gone;
    for (const v1::Finding& finding : verdicts_[0].findings()) {
      if (finding.metric() == "device_gone") gone.push_back(finding);
    }
    return gone;
  }
};

TEST_F(GoneDevicesTest, AreNamedWithSlotAndSerial) {
  v1::CheckResult earlier = Result();
  (*earlier.mutable_subjects(1)->mutable_attributes())["serial"] = "s1";
  Lose();
  JudgeAgainst(&earlier);
  ASSERT_EQ(Gone().size(), 1u);
  EXPECT_EQ(Gone()[0].subject(), "g1");
  EXPECT_EQ(Gone()[0].slot(), "0000:3b:00.0");
  EXPECT_EQ(Gone()[0].outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(Gone()[0].source(), "pass of 2026-11-21 14:11 UTC");
  EXPECT_THAT(Gone()[0].message(), Said());
}

// Like gpu-inventory's result for a node whose GPUs are all gone: there is nothing to name.
TEST_F(GoneDevicesTest, AllOfThemAreNamed) {
  LoseAll("gpu_count");
  const v1::CheckResult earlier = Result();
  JudgeAgainst(&earlier);
  ASSERT_EQ(Gone().size(), 2u);
  EXPECT_EQ(Gone()[0].subject(), "g0");
  EXPECT_EQ(Gone()[1].subject(), "g1");
  EXPECT_EQ(Gone()[1].slot(), "0000:3b:00.0");
}

TEST_F(GoneDevicesTest, ThoseThatDoNotTellTheirUuidAreNamed) {
  LoseAll("gpu_lost");
  const v1::CheckResult earlier = Result();
  JudgeAgainst(&earlier);
  EXPECT_EQ(Gone().size(), 2u);
}

TEST_F(GoneDevicesTest, WithoutAnEarlierPassNobodyCanTell) {
  Lose();
  JudgeAgainst(nullptr);
  EXPECT_TRUE(Gone().empty());
}

// A replaced card is not a fault: the pass is bound to the new one.
TEST_F(GoneDevicesTest, OnlyWhereSomeAreMissing) {
  v1::CheckResult earlier = Result();
  earlier.mutable_subjects(1)->set_id("old");
  AddNode(Result());
  JudgeAgainst(&earlier);
  EXPECT_TRUE(Gone().empty());
}

TEST_F(VerdictTest, WorseThanItWas) {
  AddNode(Result(44, 50));
  std::vector<std::string> asked;
  const auto earlier = [&](const EarlierQuery& query) {
    asked.push_back(absl::StrCat(query.node, " ", query.check, " ", query.metric, " ",
                                 query.variant, " ", query.subject));
    return std::vector<double>(12, 50);
  };
  JudgeHistory(judged_[0].measurement, {earlier, NoPass}, verdicts_[0]);
  EXPECT_THAT(asked, Contains("c0 gpu-gemm tflops_median fp16 g0"));
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_FAIL);
  const v1::Finding& finding = verdicts_[0].findings(verdicts_[0].findings_size() - 1);
  EXPECT_EQ(finding.subject(), "g0");
  EXPECT_EQ(finding.source(), "own history, 12 results, ± 5 MAD, at least 10 %");
  AddNode(Result(44, 50));
  const auto too_few = [](const EarlierQuery&) { return std::vector<double>(4, 50); };
  JudgeHistory(judged_[1].measurement, {too_few, NoPass}, verdicts_[1]);
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_PASS);
}

TEST_F(VerdictTest, EarlierResultsAreAskedForByTheirCircumstances) {
  v1::CheckResult result = Result();
  result.add_tools("cublas 11.11.3");
  (*result.mutable_subjects(1)->mutable_attributes())["power_limit_watts"] = "200";
  AddNode(result);
  judged_[0].measurement.parameters_digest = "of 8 s";
  std::map<std::string, std::string> asked;
  const auto earlier = [&](const EarlierQuery& query) {
    EXPECT_EQ(query.parameters_digest, "of 8 s");
    asked[std::string(query.subject)] = std::string(query.circumstances);
    return std::vector<double>();
  };
  JudgeHistory(judged_[0].measurement, {earlier, NoPass}, verdicts_[0]);
  EXPECT_EQ(asked["g0"], CircumstancesOf(result, &result.subjects(0)));
  EXPECT_EQ(asked["g1"], CircumstancesOf(result, &result.subjects(1)));
  EXPECT_NE(asked["g0"], asked["g1"]);
}

TEST_F(VerdictTest, AGpuThatBeganWarmIsNotHeldAgainstColdStarts) {
  const auto earlier = [](const EarlierQuery& query) {
    return std::vector<double>(12, query.metric == "temperature_celsius" ? 55 : 50);
  };
  for (const bool warm : {false, true}) {
    v1::CheckResult result = Result();
    AddMetric(result, "temperature_celsius", "", "g0", "celsius", 70);
    if (warm) {
      (*result.mutable_subjects(0)->mutable_attributes())["warm_at_start_celsius"] = "64";
    }
    AddNode(result);
  }
  for (const Judged& judged : judged_) {
    JudgeHistory(judged.measurement, {earlier, NoPass}, *judged.verdict);
  }
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_PASS) << verdicts_[1].reason();
}

}  // namespace
}  // namespace muster::controller::validation
