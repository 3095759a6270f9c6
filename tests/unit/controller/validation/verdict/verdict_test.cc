#include "controller/validation/verdict/verdict.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/validation/verdict_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Property;

TEST_F(VerdictTest, PassesWithTheValuesAndWhereTheFloorsComeFrom) {
  const v1::CheckVerdict verdict = Judge(Result());
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdict.reason(), "");
  ASSERT_EQ(verdict.findings_size(), 4);
  const v1::Finding& finding = verdict.findings(0);
  EXPECT_EQ(finding.outcome(), v1::OUTCOME_PASS);
  EXPECT_DOUBLE_EQ(finding.value(), 50);
  EXPECT_DOUBLE_EQ(finding.floor(), 40);
  EXPECT_EQ(finding.unit(), "TFLOPS");
  EXPECT_EQ(finding.source(), "inventory/hardware/x.yaml:5, measured 2026-11");
  EXPECT_EQ(finding.slot(), "0000:3b:00.0");
}

TEST_F(VerdictTest, BelowTheFloor) {
  const v1::CheckVerdict verdict = Judge(Result(50, 39.9));
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(verdict.reason(),
            "g1 at 0000:3b:00.0: tflops_median of fp16 is 39.9 TFLOPS, below the floor of 40 "
            "TFLOPS");
}

TEST_F(VerdictTest, AboveTheCeiling) {
  v1::CheckResult result = Result();
  result.mutable_metrics(1)->set_value(3);
  const v1::CheckVerdict verdict = Judge(result);
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdict.reason(), Said());
}

TEST_F(VerdictTest, MissingMetricIsAFail) {
  v1::CheckResult result = Result();
  result.mutable_metrics()->DeleteSubrange(2, 1);  // fp16 of g1
  const v1::CheckVerdict verdict = Judge(result);
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdict.reason(), Said());
  result = Result(std::nan(""), 50);
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_FAIL);
  result = Result(std::numeric_limits<double>::infinity(), 50);
  EXPECT_THAT(Judge(result).reason(), Said());
}

TEST_F(VerdictTest, OptionalMetricMayBeMissing) {
  const HardwareLibrary library =
      ParseHardware({{"x.yaml",
                      "kind: gpu\nmatch: [NVIDIA GeForce RTX 2080 Ti]\nlimits: [{check: "
                      "gpu-gemm, metric: errors, unit: \"1\", ceiling: 0, optional: true, "
                      "source: s}]\n"}},
                    kCatalog)
          .value();
  expectation_ = MakeExpectation(expectation_.hardware, library);
  v1::CheckResult result = Result();
  result.mutable_metrics(1)->set_value(1);
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_FAIL);
  result.mutable_metrics()->DeleteSubrange(1, 1);
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_PASS);
}

// Without gpu_model in the inventory each GPU has the file of the name that its driver reports.
TEST_F(VerdictTest, WithoutAModelInTheInventoryTheDriversNameLeadsToTheFile) {
  const std::string other =
      "kind: gpu\nmatch: [Tesla T4]\nmax_temperature_celsius: {value: 80, source: s}\n"
      "limits: [{check: gpu-gemm, metric: tflops_median, unit: TFLOPS, floor: 20, peak: 65, "
      "source: s}, {check: gpu-gemm, metric: temperature_celsius, unit: celsius}]\n"
      "digests: [{name: gemm int8, value: 98765432, source: golden}]\n";
  const HardwareLibrary library =
      ParseHardware({{"x.yaml", kFile}, {"t4.yaml", other}}, kCatalog).value();
  expectation_ = MakeExpectation(HardwareClass(), library);
  EXPECT_EQ(Judge(Result()).outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(Judge(Result(50, 39)).outcome(), v1::OUTCOME_FAIL);
  // Two models in one node.
  v1::CheckResult mixed = Result(50, 30);
  mixed.mutable_subjects(1)->set_model("Tesla T4");
  AddMetric(mixed, "temperature_celsius", "", "g0", "celsius", 85);
  EXPECT_THAT(Judge(mixed).reason(), HasSubstr("temperature_celsius was expected"));
  AddMetric(mixed, "temperature_celsius", "", "g1", "celsius", 75);
  v1::Digest& digest = *mixed.add_digests();
  digest.set_name("gemm int8");
  digest.set_subject("g1");
  digest.set_value("98765432");
  EXPECT_EQ(Judge(mixed).outcome(), v1::OUTCOME_PASS) << Judge(mixed).reason();
  digest.set_value("0123456789ab");
  EXPECT_EQ(Judge(mixed).outcome(), v1::OUTCOME_FAIL);
  digest.set_value("98765432");
  mixed.mutable_metrics(5)->set_value(85);
  EXPECT_EQ(Judge(mixed).outcome(), v1::OUTCOME_FAIL);
  // A model without a file.
  mixed.mutable_subjects(1)->set_model("Quadro P400");
  EXPECT_EQ(Judge(mixed).outcome(), v1::OUTCOME_PASS) << Judge(mixed).reason();
}

TEST(OfPair, TheSlowerPortCounts) {
  HardwareModel slow, fast;
  Expectation one, ten, unknown;
  one.hardware.network_gbits_per_s = 1;
  one.nic = &slow;
  ten.hardware.network_gbits_per_s = 10;
  ten.nic = &fast;
  EXPECT_EQ(OfPair(ten, ten).nic, &fast);
  EXPECT_EQ(OfPair(ten, one).nic, &slow);
  EXPECT_EQ(OfPair(one, ten).nic, &slow);
  EXPECT_EQ(OfPair(ten, unknown).nic, nullptr);
  ten.hardware.infiniband_rate = "FDR";
  EXPECT_EQ(OfPair(ten, one).nic, nullptr);
}

TEST_F(VerdictTest, MissingUnexpectedAndWrongDevices) {
  v1::CheckResult one;
  one.set_check("gpu-gemm");
  one.set_outcome(v1::OUTCOME_PASS);
  AddGpu(one, "g0", 50);
  EXPECT_EQ(Judge(one).outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(Judge(one).reason(), "1 GPU was tested, the inventory expects 2");
  // A suite that requests one GPU gets one.
  EXPECT_EQ(JudgeCheck(one, kGemm, expectation_, {{"gpus", "0"}}).outcome(), v1::OUTCOME_PASS);
  v1::CheckResult three = Result();
  AddGpu(three, "g2", 50);
  EXPECT_EQ(Judge(three).outcome(), v1::OUTCOME_FAIL);
  v1::CheckResult other = Result();
  other.mutable_subjects(1)->set_model("Tesla T4");
  EXPECT_THAT(Judge(other).reason(), Said());
}

TEST_F(VerdictTest, SkippedIsNotPassed) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  result.set_outcome(v1::OUTCOME_SKIPPED);
  result.set_reason("no GPU");
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(Judge(result).findings(0).message(), Said());
  EXPECT_EQ(JudgeCheck(result, kGemm, Expectation(), {}).outcome(), v1::OUTCOME_SKIPPED);
  EXPECT_EQ(JudgeCheck(result, kMemory, expectation_, {}).outcome(), v1::OUTCOME_SKIPPED);
}

TEST_F(VerdictTest, SkippedRdmaIsAFailOnlyWhereInfinibandIsExpected) {
  static constexpr checks::MetricSpec kMetrics[] = {
      {"send_gbits", "Gbit/s", "nic", checks::Better::kHigher, ""}};
  static constexpr checks::CheckSpec kRdma = {
      "rdma-pair", checks::Scope::kPair, checks::Load::kNetwork, {}, kMetrics, ""};
  v1::CheckResult result;
  result.set_check("rdma-pair");
  result.set_outcome(v1::OUTCOME_SKIPPED);
  result.set_reason("there is no RDMA device in /sys/class/infiniband");
  expectation_.hardware.network_gbits_per_s = 10;
  EXPECT_EQ(JudgeCheck(result, kRdma, expectation_, {}).outcome(), v1::OUTCOME_SKIPPED);
  EXPECT_EQ(JudgeCheck(result, kPair, expectation_, {}).outcome(), v1::OUTCOME_FAIL);
  expectation_.hardware.infiniband_ports = 1;
  const v1::CheckVerdict verdict = JudgeCheck(result, kRdma, expectation_, {});
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdict.findings(), Contains(Property(&v1::Finding::metric, "missing_device")));
}

TEST_F(VerdictTest, SkippedWithAllGpusThereIsNoFail) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  result.set_outcome(v1::OUTCOME_SKIPPED);
  result.set_reason("NCCL is not installed");
  for (const char* id : {"g0", "g1"}) {
    EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_FAIL) << "before " << id;
    v1::Subject* subject = result.add_subjects();
    subject->set_id(id);
    subject->set_kind("gpu");
  }
  const v1::CheckVerdict skipped = Judge(result);
  EXPECT_EQ(skipped.outcome(), v1::OUTCOME_SKIPPED);
  v1::CheckVerdict passed;
  passed.set_outcome(v1::OUTCOME_PASS);
  // It neither passes a node nor blocks it.
  EXPECT_EQ(OutcomeOf({&skipped, &passed}, true), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf({&skipped}, true), v1::OUTCOME_SKIPPED);
}

TEST_F(VerdictTest, WorkerThatCouldNotTell) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  result.set_outcome(v1::OUTCOME_UNKNOWN);
  result.set_reason("the worker died of signal 11");
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Judge(result).reason(), "the worker died of signal 11");
  // The faults that it did see count.
  v1::Fault& fault = *result.add_faults();
  fault.set_code("bit_mismatch");
  fault.set_message("3 wrong values");
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(Judge(result).reason(), "3 wrong values");
  EXPECT_EQ(Judge(v1::CheckResult()).outcome(), v1::OUTCOME_UNKNOWN);
}

TEST_F(VerdictTest, AnotherUnitIsNotCompared) {
  v1::CheckResult result = Result();
  result.mutable_metrics(0)->set_unit("GFLOPS");
  result.mutable_metrics(0)->set_value(50'000);
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(Judge(result).reason(), Said());
}

TEST_F(VerdictTest, TheLowerTemperatureLimitCounts) {
  v1::CheckResult result = Result();
  AddMetric(result, "temperature_celsius", "", "g0", "celsius", 87);
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_PASS);
  expectation_.hardware.gpu_temperature_limit_celsius = 85;
  expectation_.hardware.gpu_temperature_source = "cluster.yaml:38";
  const v1::CheckVerdict verdict = Judge(result);
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdict.findings(), Contains(Property(&v1::Finding::source, "cluster.yaml:38")));
  result.mutable_metrics(4)->set_value(90);
  expectation_.hardware.gpu_temperature_limit_celsius.reset();
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_FAIL);
}

TEST_F(VerdictTest, FindingsAreBoundedAndTheWorseAreKept) {
  v1::CheckResult result = Result();
  for (int i = 0; i < 500; ++i) AddMetric(result, "errors", absl::StrCat(i), "g0", "1", i == 499);
  const v1::CheckVerdict verdict = Judge(result);
  EXPECT_EQ(verdict.findings_size(), kMaxFindings);
  EXPECT_THAT(verdict.findings(), Contains(Property(&v1::Finding::outcome, v1::OUTCOME_FAIL)));
}

// The worker, which knew what to expect, has reported it: once is enough.
TEST_F(VerdictTest, WhatTheWorkerSaidOfDevicesIsNotSaidAgain) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  result.set_outcome(v1::OUTCOME_FAIL);
  AddGpu(result, "g0", 50);
  result.mutable_subjects(0)->set_model("Tesla T4");
  const int without = Judge(result).findings_size();
  v1::Fault& count = *result.add_faults();
  count.set_code("gpu_count");
  count.set_message("the driver sees 1 GPU, not 2");
  v1::Fault& model = *result.add_faults();
  model.set_code("wrong_model");
  model.set_subject("g0");
  EXPECT_EQ(Judge(result).findings_size(), without);
  model.set_subject("g1");
  EXPECT_EQ(Judge(result).findings_size(), without + 1);
}

}  // namespace
}  // namespace muster::controller::validation
