// JudgeFleet: beside peers and own earlier results.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/controller/validation/verdict_fixture.h"

namespace muster::controller::validation {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST_F(VerdictTest, OutlierOfTheFleet) {
  for (int i = 0; i < 4; ++i) AddNode(Result(50 + 0.1 * i, i == 2 ? 45 : 50));
  JudgeFleet(judged_, nullptr);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(verdicts_[i].outcome(), i == 2 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS) << i;
  }
  const v1::Finding& finding = verdicts_[2].findings(verdicts_[2].findings_size() - 1);
  EXPECT_EQ(finding.subject(), "g1");
  EXPECT_EQ(finding.source(), "median of 8 GPUs, ± 5 MAD, at least 5 %");
  EXPECT_NEAR(finding.floor(), 47.5, 0.2);
}

TEST_F(VerdictTest, SevenAreNoFleetAndOthersAreNoPeers) {
  for (int i = 0; i < 3; ++i) AddNode(Result(50, i == 2 ? 41 : 50));
  JudgeFleet(judged_, nullptr);
  EXPECT_EQ(verdicts_[2].outcome(), v1::OUTCOME_PASS);
  v1::CheckResult other = Result(41, 41);
  for (v1::Subject& subject : *other.mutable_subjects()) {
    (*subject.mutable_attributes())["power_limit_watts"] = "200";
  }
  AddNode(other);
  AddNode(Result());
  JudgeFleet(judged_, nullptr);
  EXPECT_EQ(verdicts_[2].outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(verdicts_[3].outcome(), v1::OUTCOME_PASS);
}

TEST_F(VerdictTest, CountsHaveNoFleetAndHotterIsWorse) {
  for (int i = 0; i < 4; ++i) {
    v1::CheckResult result = Result();
    result.mutable_metrics()->RemoveLast();
    AddMetric(result, "errors", "", "g1", "1", 0);
    AddMetric(result, "temperature_celsius", "", "g0", "celsius", i == 0 ? 85 : 70);
    AddMetric(result, "temperature_celsius", "", "g1", "celsius", i == 1 ? 40 : 70);
    AddNode(result);
  }
  JudgeFleet(judged_, nullptr);
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdicts_[0].reason(), HasSubstr("above the usual range, which ends at 80 celsius"));
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_PASS);
}

TEST_F(VerdictTest, PortsOfAnotherNameAreNoPeers) {
  static constexpr checks::MetricSpec kMetrics[] = {
      {"speed_mbits", "Mbit/s", "nic", checks::Better::kHigher, ""}};
  static constexpr checks::CheckSpec kLink = {
      "nic-link", checks::Scope::kNode, checks::Load::kIdle, {}, kMetrics, ""};
  for (int i = 0; i < 9; ++i) {
    v1::CheckResult result;
    result.set_check("nic-link");
    result.set_outcome(v1::OUTCOME_PASS);
    for (const char* name : {"eth0", "eth1"}) {
      v1::Subject& nic = *result.add_subjects();
      nic.set_id(name);
      nic.set_kind("nic");
      // eth1 is for management on every node; on one node eth0 came up as slow.
      const bool slow = nic.id() == "eth1" || i == 4;
      AddMetric(result, "speed_mbits", "", name, "Mbit/s", slow ? 1000 : 10000);
    }
    AddNode(result, kLink);
  }
  JudgeFleet(judged_, nullptr);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(verdicts_[i].outcome(), i == 4 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS) << i;
  }
  EXPECT_THAT(verdicts_[4].reason(), HasSubstr("eth0: speed_mbits is 1000 Mbit/s, below"));
}

TEST_F(VerdictTest, NodesAreComparedWhereTheInventorySaysWhichMachinesTheyAre) {
  const auto judge = [&] {
    for (int i = 0; i < 8; ++i) {
      v1::CheckResult result;
      result.set_check("memory");
      result.set_outcome(v1::OUTCOME_PASS);
      AddMetric(result, "bandwidth", "", "", "GB/s", i == 3 ? 60 : 100);
      AddNode(result, kMemory);
    }
    JudgeFleet(judged_, nullptr);
    const v1::Outcome slow = verdicts_[verdicts_.size() - 5].outcome();
    judged_.clear();
    return slow;
  };
  expectation_ = {};
  expectation_.hardware.network_gbits_per_s = 10;
  EXPECT_EQ(judge(), v1::OUTCOME_PASS);
  expectation_.hardware.node_model = "SYS-4029GP";
  EXPECT_EQ(judge(), v1::OUTCOME_FAIL);
}

TEST_F(VerdictTest, WorseThanItWas) {
  AddNode(Result(44, 50));
  std::vector<std::string> asked;
  const auto earlier = [&](const EarlierQuery& query) {
    asked.push_back(absl::StrCat(query.node, " ", query.check, " ", query.metric, " ",
                                 query.variant, " ", query.subject));
    return std::vector<double>(12, 50);
  };
  JudgeFleet(judged_, earlier);
  EXPECT_THAT(asked, Contains("c0 gpu-gemm tflops_median fp16 g0"));
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_FAIL);
  const v1::Finding& finding = verdicts_[0].findings(verdicts_[0].findings_size() - 1);
  EXPECT_EQ(finding.subject(), "g0");
  EXPECT_EQ(finding.source(), "own history, 12 results, ± 5 MAD, at least 10 %");
  AddNode(Result(44, 50));
  JudgeFleet({&judged_[1], 1}, [](const EarlierQuery&) { return std::vector<double>(4, 50); });
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_PASS);
}

}  // namespace
}  // namespace muster::controller::validation
