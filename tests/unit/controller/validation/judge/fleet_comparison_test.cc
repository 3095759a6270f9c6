#include "controller/validation/judge/fleet_comparison.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/validation/judge/history.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/validation/verdict_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Property;

TEST_F(VerdictTest, OutlierOfTheFleet) {
  for (int i = 0; i < 4; ++i) AddNode(Result(50 + 0.1 * i, i == 2 ? 45 : 50));
  JudgeBy<FleetComparison>();
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
  JudgeBy<FleetComparison>();
  EXPECT_EQ(verdicts_[2].outcome(), v1::OUTCOME_PASS);
  v1::CheckResult other = Result(41, 41);
  for (v1::Subject& subject : *other.mutable_subjects()) {
    (*subject.mutable_attributes())["power_limit_watts"] = "200";
  }
  AddNode(other);
  AddNode(Result());
  JudgeBy<FleetComparison>();
  EXPECT_EQ(verdicts_[2].outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(verdicts_[3].outcome(), v1::OUTCOME_PASS);
}

// A node that claims to have a thousand GPUs, all of them twice as fast, or half.
TEST_F(VerdictTest, ManyGpusOfOneNodePutNoOtherNodeOutOfService) {
  for (const double lie : {100.0, 45.0, 53.0}) {
    for (const int honest : {1, 2, 4, 8}) {
      judged_.clear();
      verdicts_.clear();
      results_.clear();
      for (int i = 0; i < honest; ++i) AddNode(Result(50.1 - 0.1 * i, 49.9 + 0.1 * i));
      v1::CheckResult liar;
      liar.set_check("gpu-gemm");
      liar.set_outcome(v1::OUTCOME_PASS);
      for (int gpu = 0; gpu < 1000; ++gpu) AddGpu(liar, absl::StrCat("lie", gpu), lie);
      AddNode(liar);
      JudgeBy<FleetComparison>();
      for (int i = 0; i < honest; ++i)
        EXPECT_EQ(verdicts_[i].outcome(), v1::OUTCOME_PASS) << lie << ", " << honest << " honest";
    }
  }
}

// Its claims about itself still count for itself.
TEST_F(VerdictTest, ANodeWithoutEnoughPeersIsHeldAgainstItsOwnParts) {
  AddNode(Result());
  v1::CheckResult many;
  many.set_check("gpu-gemm");
  many.set_outcome(v1::OUTCOME_PASS);
  for (int gpu = 0; gpu < 8; ++gpu) AddGpu(many, absl::StrCat("m", gpu), gpu == 3 ? 41 : 50);
  AddNode(many);
  JudgeBy<FleetComparison>();
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(verdicts_[1].findings(),
              Contains(Property(&v1::Finding::source, HasSubstr("median of 8 GPUs"))));
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
  JudgeBy<FleetComparison>();
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdicts_[0].reason(), Said());
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_PASS);
}

TEST_F(VerdictTest, ResultsOfAnotherEngineOrOfOtherParametersAreNoPeers) {
  // Two nodes without cuBLAS, which use our own kernels.
  for (int i = 0; i < 6; ++i) {
    v1::CheckResult result = i < 4 ? Result(50, 50) : Result(30, 30);
    result.add_tools(i < 4 ? "cublas 11.11.3" : "own kernel sm_75");
    AddNode(result);
  }
  JudgeBy<FleetComparison>();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(verdicts_[i].outcome(), Judge(results_[i]).outcome()) << i;
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(verdicts_[i].findings(),
                Not(Contains(Property(&v1::Finding::source, HasSubstr("median of")))))
        << i;
  }
  // The same check twice in a stage.
  judged_.clear();
  for (int i = 0; i < 6; ++i) {
    AddNode(i < 4 ? Result(50, 50) : Result(45, 45));
    judged_.back().measurement.parameters_digest = i < 4 ? "of 8 s" : "of 3 min";
  }
  JudgeBy<FleetComparison>();
  for (const Judged& judged : judged_) {
    EXPECT_EQ(judged.verdict->outcome(), v1::OUTCOME_PASS) << std::string(judged.measurement.node);
  }
  for (Judged& judged : judged_) judged.measurement.parameters_digest = "of 8 s";
  JudgeBy<FleetComparison>();
  EXPECT_EQ(judged_[5].verdict->outcome(), v1::OUTCOME_FAIL);
}

// Slots of PCIe 3 and 4, with equal cards.
TEST_F(VerdictTest, GpusOfAnotherMachineModelAreNoPeers) {
  std::deque<Expectation> expectations;
  const auto add = [&](const char* model, double tflops) {
    AddNode(Result(tflops, tflops));
    expectations.push_back(expectation_);
    if (model != nullptr) expectations.back().hardware.node_model = model;
    judged_.back().measurement.expectation = &expectations.back();
  };
  for (int i = 0; i < 6; ++i) add(i < 4 ? "SYS-A" : "SYS-B", i < 4 ? 50 : 45);
  JudgeBy<FleetComparison>();
  for (const v1::CheckVerdict& verdict : verdicts_)
    EXPECT_EQ(verdict.outcome(), v1::OUTCOME_PASS) << verdict.reason();
  // Machines whose model nobody has written down are compared with each other.
  judged_.clear();
  for (int i = 0; i < 6; ++i) add(nullptr, i < 5 ? 50 : 45);
  JudgeBy<FleetComparison>();
  EXPECT_EQ(verdicts_.back().outcome(), v1::OUTCOME_FAIL);
}

TEST_F(VerdictTest, HowWarmAnIdleGpuIsIsComparedWithNothing) {
  const checks::CheckSpec& look = *checks::FindCheck("gpu-inventory");
  for (int i = 0; i < 9; ++i) {
    v1::CheckResult result;
    result.set_check("gpu-inventory");
    result.set_outcome(v1::OUTCOME_PASS);
    for (const char* id : {"g0", "g1"}) {
      AddGpu(result, id, 50);
      // Right after a job.
      AddMetric(result, "temperature_celsius", "", id, "celsius", i == 8 ? 75 : 30);
    }
    AddNode(result, look);
  }
  JudgeBy<FleetComparison>();
  const History history = {[](const EarlierQuery&) { return std::vector<double>(12, 30); }, {}};
  JudgeHistory(judged_[8].measurement, history, verdicts_[8]);
  EXPECT_EQ(verdicts_[8].outcome(), v1::OUTCOME_PASS) << verdicts_[8].reason();
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
      // eth1 is for management on every node; on one node eth0 came up just as slow.
      const bool slow = nic.id() == "eth1" || i == 4;
      AddMetric(result, "speed_mbits", "", name, "Mbit/s", slow ? 1000 : 10000);
    }
    AddNode(result, kLink);
  }
  JudgeBy<FleetComparison>();
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(verdicts_[i].outcome(), i == 4 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS) << i;
  }
  EXPECT_THAT(verdicts_[4].reason(), Said());
}

TEST_F(VerdictTest, PortsOfAnotherExpectedSpeedAreNoPeers) {
  static constexpr checks::MetricSpec kMetrics[] = {
      {"speed_mbits", "Mbit/s", "nic", checks::Better::kHigher, ""}};
  static constexpr checks::CheckSpec kLink = {
      "nic-link", checks::Scope::kNode, checks::Load::kIdle, {}, kMetrics, ""};
  expectation_ = {};
  std::deque<Expectation> expectations;
  for (int i = 0; i < 20; ++i) {
    // Port 8 came up just as slow as the ports of the other network.
    const double expected = i < 9 ? 100 : 25;
    v1::CheckResult result;
    result.set_check("nic-link");
    result.set_outcome(v1::OUTCOME_PASS);
    v1::Subject& nic = *result.add_subjects();
    nic.set_id("eth0");
    nic.set_kind("nic");
    AddMetric(result, "speed_mbits", "", "eth0", "Mbit/s", i < 8 ? 100'000 : 25'000);
    AddNode(result, kLink);
    expectations.push_back(expectation_);
    expectations.back().hardware.network_gbits_per_s = expected;
    judged_.back().measurement.expectation = &expectations.back();
  }
  JudgeBy<FleetComparison>();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(verdicts_[i].outcome(), i == 8 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS) << i;
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
    JudgeBy<FleetComparison>();
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

TEST_F(VerdictTest, DisksOfOtherMachinesAreNoPeers) {
  static constexpr checks::MetricSpec kMetrics[] = {
      {"read", "MB/s", "file_system", checks::Better::kHigher, ""}};
  static constexpr checks::CheckSpec kDisk = {
      "disk", checks::Scope::kNode, checks::Load::kCpu, {}, kMetrics, ""};
  Expectation other = expectation_;
  other.hardware.gpu_model = "NVIDIA H100";
  for (int i = 0; i < 20; ++i) {
    v1::CheckResult result;
    result.set_check("disk");
    result.set_outcome(v1::OUTCOME_PASS);
    v1::Subject& disk = *result.add_subjects();
    disk.set_id("/scratch");
    disk.set_kind("file_system");
    AddMetric(result, "read", "", "/scratch", "MB/s", i < 16 && i != 3 ? 6000 : 500);
    AddNode(result, kDisk);
    if (i >= 16) judged_.back().measurement.expectation = &other;
  }
  JudgeBy<FleetComparison>();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(verdicts_[i].outcome(), i == 3 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS) << i;
  }
  EXPECT_THAT(verdicts_[3].findings(),
              Contains(Property(&v1::Finding::source, HasSubstr(" file systems, "))));
}

}  // namespace
}  // namespace muster::controller::validation
