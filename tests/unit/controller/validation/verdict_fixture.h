// Results of GPUs and the limits by which they are judged.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/validation/judge/measurement.h"

namespace muster::controller::validation {

inline constexpr char kModel[] = "NVIDIA GeForce RTX 2080 Ti";

inline constexpr checks::MetricSpec kGemmMetrics[] = {
    {"tflops_median", "TFLOPS", "gpu", checks::Better::kHigher, ""},
    {"temperature_celsius", "celsius", "gpu", checks::Better::kLower, ""},
    {"errors", "1", "gpu", checks::Better::kLower, ""},
};
inline constexpr checks::CheckSpec kGemm = {"gpu-gemm", checks::Scope::kNode, checks::Load::kGpu,
                                            {},         kGemmMetrics,         ""};
inline constexpr checks::MetricSpec kMemoryMetrics[] = {
    {"bandwidth", "GB/s", "", checks::Better::kHigher, ""}};
inline constexpr checks::CheckSpec kMemory = {"memory", checks::Scope::kNode, checks::Load::kCpu,
                                              {},       kMemoryMetrics,       ""};
inline constexpr checks::MetricSpec kPairMetrics[] = {
    {"receive_gbits", "Gbit/s", "nic", checks::Better::kHigher, ""},
    {"send_gbits", "Gbit/s", "nic", checks::Better::kHigher, ""},
    {"retransmits", "1", "nic", checks::Better::kLower, ""},
    {"port_errors", "1", "nic", checks::Better::kLower, ""},
};
inline constexpr checks::CheckSpec kPair = {
    "nic-pair", checks::Scope::kPair, checks::Load::kNetwork, {}, kPairMetrics, ""};
inline const checks::CheckSpec* const kCatalog[] = {&kGemm, &kMemory, &kPair};

inline constexpr char kFile[] =
    "kind: gpu\n"
    "match: [NVIDIA GeForce RTX 2080 Ti]\n"
    "max_temperature_celsius: {value: 89, source: data sheet}\n"
    "limits:\n"
    "  - {check: gpu-gemm, metric: tflops_median, variant: fp16, unit: TFLOPS, floor: 40,\n"
    "     peak: 56.9, source: measured 2026-11}\n"
    "  - {check: gpu-gemm, metric: errors, unit: \"1\", ceiling: 0, source: none are right}\n"
    "digests: [{name: gemm int8, value: 0123456789ab, source: golden}]\n";

// Results of nodes with two GPUs of a model that has a file.
class VerdictTest : public ::testing::Test {
 protected:
  VerdictTest()
      : library_(ParseHardware({{"inventory/hardware/x.yaml", kFile}}, kCatalog).value()) {
    HardwareClass hardware;
    hardware.gpu_model = kModel;
    hardware.gpu_count = 2;
    expectation_ = MakeExpectation(hardware, library_);
  }

  static void AddGpu(v1::CheckResult& result, const std::string& id, double tflops) {
    v1::Subject& gpu = *result.add_subjects();
    gpu.set_id(id);
    gpu.set_kind("gpu");
    gpu.set_model(kModel);
    gpu.set_slot("0000:3b:00.0");
    (*gpu.mutable_attributes())["vbios_version"] = "90.02";
    AddMetric(result, "tflops_median", "fp16", id, "TFLOPS", tflops);
    AddMetric(result, "errors", "", id, "1", 0);
  }
  static void AddMetric(v1::CheckResult& result, const std::string& name,
                        const std::string& variant, const std::string& subject,
                        const std::string& unit, double value) {
    v1::Metric& metric = *result.add_metrics();
    metric.set_name(name);
    metric.set_variant(variant);
    metric.set_subject(subject);
    metric.set_unit(unit);
    metric.set_value(value);
  }
  static v1::CheckResult Result(double first = 50, double second = 50) {
    v1::CheckResult result;
    result.set_check("gpu-gemm");
    result.set_outcome(v1::OUTCOME_PASS);
    AddGpu(result, "g0", first);
    AddGpu(result, "g1", second);
    return result;
  }
  v1::CheckVerdict Judge(const v1::CheckResult& result) {
    return JudgeCheck(result, kGemm, expectation_, {});
  }
  // One node's result, judged separately.
  void AddNode(const v1::CheckResult& result, const checks::CheckSpec& spec = kGemm) {
    results_.push_back(result);
    verdicts_.push_back(JudgeCheck(result, spec, expectation_, {}));
    names_.push_back(absl::StrCat("c", names_.size()));
    judged_.push_back(
        {{names_.back(), "burn", &spec, &results_.back(), &expectation_, ""}, &verdicts_.back()});
  }

  struct Judged {
    Measurement measurement;
    v1::CheckVerdict* verdict;  // as JudgeCheck() made it
  };

  // Adds what the comparison of all measurements finds to their verdicts.
  template <typename Comparison>
  void JudgeBy() {
    Comparison comparison;
    for (uint32_t i = 0; i < judged_.size(); ++i) comparison.Add(i, judged_[i].measurement);
    for (const auto& found : comparison.Judge()) {
      AddFinding(found.finding, judged_[found.check].verdict);
    }
  }

  HardwareLibrary library_;
  Expectation expectation_;
  std::deque<v1::CheckResult> results_;
  std::deque<v1::CheckVerdict> verdicts_;
  std::deque<std::string> names_;
  std::vector<Judged> judged_;
};

}  // namespace muster::controller::validation
