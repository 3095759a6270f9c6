#include "controller/validation/verdict/gone_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/validation/verdict_fixture.h"

namespace muster::controller::validation {
namespace {

using ::testing::HasSubstr;

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
    JudgeGoneDevices(judged_, [&](const JudgedResult& judged) {
      EXPECT_EQ(judged.node, "c0");
      return EarlierPass{earlier, absl::FromUnixSeconds(1'795'270'295)};
    });
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
  EXPECT_THAT(Gone()[0].message(), HasSubstr("no longer visible (serial s1)"));
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

}  // namespace
}  // namespace muster::controller::validation
