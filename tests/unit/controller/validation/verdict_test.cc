#include "controller/validation/verdict.h"

#include <cmath>
#include <deque>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/validation/pair_matrix.h"
#include "tests/fakes/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::SizeIs;

constexpr char kModel[] = "NVIDIA GeForce RTX 2080 Ti";

constexpr checks::MetricSpec kGemmMetrics[] = {
    {"tflops_median", "TFLOPS", "gpu", checks::Better::kHigher, ""},
    {"temperature_celsius", "celsius", "gpu", checks::Better::kLower, ""},
    {"errors", "1", "gpu", checks::Better::kLower, ""},
};
constexpr checks::CheckSpec kGemm = {"gpu-gemm", checks::Scope::kNode, checks::Load::kGpu,
                                     {},         kGemmMetrics,         ""};
constexpr checks::MetricSpec kMemoryMetrics[] = {
    {"bandwidth", "GB/s", "", checks::Better::kHigher, ""}};
constexpr checks::CheckSpec kMemory = {"memory", checks::Scope::kNode, checks::Load::kCpu,
                                       {},       kMemoryMetrics,       ""};
constexpr checks::MetricSpec kPairMetrics[] = {
    {"receive_gbits", "Gbit/s", "nic", checks::Better::kHigher, ""},
    {"send_gbits", "Gbit/s", "nic", checks::Better::kHigher, ""},
    {"retransmits", "1", "nic", checks::Better::kLower, ""},
};
constexpr checks::CheckSpec kPair = {"nic-pair", checks::Scope::kPair, checks::Load::kNetwork,
                                     {},         kPairMetrics,         ""};
const checks::CheckSpec* const kCatalog[] = {&kGemm, &kMemory, &kPair};

constexpr char kFile[] =
    "kind: gpu\n"
    "match: [NVIDIA GeForce RTX 2080 Ti]\n"
    "max_temperature_celsius: {value: 89, source: data sheet}\n"
    "limits:\n"
    "  - {check: gpu-gemm, metric: tflops_median, variant: fp16, unit: TFLOPS, floor: 40,\n"
    "     peak: 56.9, source: measured 2026-11}\n"
    "  - {check: gpu-gemm, metric: errors, unit: \"1\", ceiling: 0, source: none are right}\n"
    "digests: [{name: gemm int8, value: 0123456789ab, source: golden}]\n";

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
  // One node's result, judged by itself.
  void AddNode(const v1::CheckResult& result, const checks::CheckSpec& spec = kGemm) {
    results_.push_back(result);
    verdicts_.push_back(JudgeCheck(result, spec, expectation_, {}));
    names_.push_back(absl::StrCat("c", names_.size()));
    judged_.push_back(
        {names_.back(), "burn", &spec, &results_.back(), &expectation_, &verdicts_.back()});
  }

  HardwareLibrary library_;
  Expectation expectation_;
  std::deque<v1::CheckResult> results_;
  std::deque<v1::CheckVerdict> verdicts_;
  std::deque<std::string> names_;
  std::vector<JudgedResult> judged_;
};

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
  EXPECT_THAT(verdict.reason(), HasSubstr("errors is 3 1, above the ceiling of 0"));
}

TEST_F(VerdictTest, MissingMetricIsAFail) {
  v1::CheckResult result = Result();
  result.mutable_metrics()->DeleteSubrange(2, 1);  // fp16 of g1
  const v1::CheckVerdict verdict = Judge(result);
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdict.reason(), HasSubstr("tflops_median of fp16 was expected and not measured"));
  result = Result(std::nan(""), 50);
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_FAIL);
  result = Result(std::numeric_limits<double>::infinity(), 50);
  EXPECT_THAT(Judge(result).reason(), HasSubstr("is no number"));
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
  EXPECT_EQ(Judge(one).reason(), "1 GPUs were tested, the inventory expects 2");
  // A suite that asks for one GPU gets one.
  EXPECT_EQ(JudgeCheck(one, kGemm, expectation_, {{"gpus", "0"}}).outcome(), v1::OUTCOME_PASS);
  v1::CheckResult three = Result();
  AddGpu(three, "g2", 50);
  EXPECT_EQ(Judge(three).outcome(), v1::OUTCOME_FAIL);
  v1::CheckResult other = Result();
  other.mutable_subjects(1)->set_model("Tesla T4");
  EXPECT_THAT(Judge(other).reason(), HasSubstr("it is 'Tesla T4', the inventory expects 'NVIDIA"));
}

TEST_F(VerdictTest, SkippedIsNotPassed) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  result.set_outcome(v1::OUTCOME_SKIPPED);
  result.set_reason("no GPU");
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(Judge(result).findings(0).message(), HasSubstr("2 × NVIDIA GeForce RTX 2080 Ti"));
  EXPECT_EQ(JudgeCheck(result, kGemm, Expectation(), {}).outcome(), v1::OUTCOME_SKIPPED);
  EXPECT_EQ(JudgeCheck(result, kMemory, expectation_, {}).outcome(), v1::OUTCOME_SKIPPED);
}

TEST_F(VerdictTest, WorkerThatCouldNotTell) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  result.set_outcome(v1::OUTCOME_UNKNOWN);
  result.set_reason("the worker died of signal 11");
  EXPECT_EQ(Judge(result).outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Judge(result).reason(), "the worker died of signal 11");
  // What it did see counts.
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
  EXPECT_THAT(Judge(result).reason(), HasSubstr("of different versions"));
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

void AddDigest(v1::CheckResult& result, const std::string& name, const std::string& subject,
               const std::string& value) {
  v1::Digest& digest = *result.add_digests();
  digest.set_name(name);
  digest.set_subject(subject);
  digest.set_value(value);
}

TEST_F(VerdictTest, MinorityComputesWrongly) {
  for (int i = 0; i < 2; ++i) {
    v1::CheckResult result = Result();
    AddDigest(result, "gemm fp16", "g0", "aaaa");
    AddDigest(result, "gemm fp16", "g1", i == 1 ? "bbbb" : "aaaa");
    AddNode(result);
  }
  JudgeDigests(judged_);
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdicts_[1].reason(),
              HasSubstr("'gemm fp16' has digest bbbb, 3 of 4 equal GPUs have aaaa"));
}

TEST_F(VerdictTest, OfTwoThatDifferNobodyKnowsWhichIsWrong) {
  v1::CheckResult result = Result();
  AddDigest(result, "gemm fp16", "g0", "aaaa");
  AddDigest(result, "gemm fp16", "g1", "bbbb");
  AddNode(result);
  JudgeDigests(judged_);
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(verdicts_[0].reason(), HasSubstr("cannot be told"));
}

TEST_F(VerdictTest, GoldenDigest) {
  v1::CheckResult result = Result();
  AddDigest(result, "gemm int8", "g0", "0123456789ab");
  AddDigest(result, "gemm int8", "g1", "ffffffffffff");
  AddNode(result);
  JudgeDigests(judged_);
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdicts_[0].reason(), HasSubstr("all GPUs of this model have 0123456789ab"));
}

v1::CheckVerdict Verdict(v1::Outcome outcome, const std::string& partner = "") {
  v1::CheckVerdict verdict;
  verdict.set_check(partner.empty() ? "gpu-gemm" : "nic-pair");
  verdict.set_partner(partner);
  verdict.set_outcome(outcome);
  return verdict;
}

v1::Outcome Of(const std::vector<v1::CheckVerdict>& verdicts, bool complete = true) {
  std::vector<const v1::CheckVerdict*> pointers;
  for (const v1::CheckVerdict& verdict : verdicts) pointers.push_back(&verdict);
  return OutcomeOf(pointers, complete);
}

TEST(OutcomeOf, TheWorstCounts) {
  const auto pass = Verdict(v1::OUTCOME_PASS), fail = Verdict(v1::OUTCOME_FAIL),
             unknown = Verdict(v1::OUTCOME_UNKNOWN), skipped = Verdict(v1::OUTCOME_SKIPPED);
  EXPECT_EQ(Of({}), v1::OUTCOME_UNSPECIFIED);
  EXPECT_EQ(Of({skipped}), v1::OUTCOME_SKIPPED);
  EXPECT_EQ(Of({pass, skipped}), v1::OUTCOME_PASS);
  EXPECT_EQ(Of({pass, unknown, skipped}), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({unknown, fail, pass}), v1::OUTCOME_FAIL);
  EXPECT_EQ(Of({pass}, false), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({fail}, false), v1::OUTCOME_FAIL);
  EXPECT_EQ(Of({}, false), v1::OUTCOME_UNKNOWN);
}

TEST(OutcomeOf, LostPartnersSayNothingOfTheNode) {
  const auto pass = Verdict(v1::OUTCOME_PASS, "a"), unknown = Verdict(v1::OUTCOME_UNKNOWN, "b"),
             fail = Verdict(v1::OUTCOME_FAIL, "c");
  EXPECT_EQ(Of({pass, unknown}), v1::OUTCOME_PASS);
  EXPECT_EQ(Of({unknown}), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({pass, unknown, unknown}), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(Of({pass, pass, fail}), v1::OUTCOME_FAIL);
}

// From results of pairs to blame, and back to the verdicts.
class PairVerdictTest : public VerdictTest {
 protected:
  void Pair(const std::string& node, const std::string& partner, double receive, double send) {
    v1::CheckResult& result = results_.emplace_back();
    result.set_check("nic-pair");
    result.set_outcome(v1::OUTCOME_PASS);
    v1::Subject& nic = *result.add_subjects();
    nic.set_id("eth0");
    nic.set_kind("nic");
    AddMetric(result, "receive_gbits", "", "eth0", "Gbit/s", receive);
    AddMetric(result, "send_gbits", "", "eth0", "Gbit/s", send);
    AddMetric(result, "retransmits", "", "eth0", "1", 5);
    pairs_.push_back({names_.emplace_back(node), names_.emplace_back(partner), &kPair, &result});
    v1::CheckVerdict& verdict = verdicts_.emplace_back();
    verdict.set_outcome(receive < 8 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
    verdict.set_partner(partner);
    pair_verdicts_.push_back({pairs_.back().node, pairs_.back().partner, &verdict});
  }
  std::vector<PairResult> pairs_;
  std::vector<PairVerdict> pair_verdicts_;
};

TEST_F(PairVerdictTest, TheOtherSideHasNothingToAnswerFor) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  for (const std::string& node : names) {
    for (const std::string& partner : names) {
      if (node == partner) continue;
      const bool slow = node == "b" || partner == "b";
      Pair(node, partner, slow ? 3 : 9.4, slow ? 3.1 : 9.3);
    }
  }
  Pair("a", "stranger", 1, 1);
  v1::CheckResult counters;
  v1::Subject& nic = *counters.add_subjects();
  nic.set_id("eth0");
  nic.set_kind("nic");
  AddMetric(counters, "rx_crc_errors", "", "eth0", "1", 100);
  const std::vector<NodeResultRef> others = {{"b", &counters}};
  const PairMatrix matrix = MakePairMatrix(
      {{"a", "sw", 10}, {"b", "sw", 10}, {"c", "sw", 10}, {"d", "sw", 10}}, pairs_, others);
  ASSERT_THAT(matrix.rates, SizeIs(12));
  EXPECT_DOUBLE_EQ(matrix.rates[0].gbits_per_s, 3);  // a → b as b received it
  EXPECT_DOUBLE_EQ(matrix.rates[0].retransmits, 5);
  EXPECT_EQ(matrix.rates[0].from_interface, "eth0");
  const std::vector<Blame> blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  EXPECT_EQ(blames[0].kind, BlameKind::kLink);
  EXPECT_EQ(ToProto(blames[0]).names(0), "b");
  ApplyBlame(matrix, blames, pair_verdicts_);
  std::map<std::string, std::vector<const v1::CheckVerdict*>> of_node;
  for (const PairVerdict& pair : pair_verdicts_) {
    of_node[std::string(pair.node)].push_back(pair.verdict);
  }
  EXPECT_EQ(OutcomeOf(of_node["b"], true), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(of_node["c"], true), v1::OUTCOME_PASS);
  EXPECT_THAT(of_node["c"][1]->reason(), HasSubstr("not this node's fault: the link of b eth0"));
}

TEST_F(PairVerdictTest, SlowPairsThatNobodyExplainsAreUnknown) {
  Pair("a", "b", 9.4, 8.5);
  Pair("b", "a", 8.5, 9.4);
  PairMatrix matrix = MakePairMatrix({{"a", "", 10}, {"b", "", 10}}, pairs_, {});
  matrix.rates[0].gbits_per_s = 5;
  const std::vector<Blame> blames = FindBlame(matrix);
  ASSERT_THAT(blames, SizeIs(1));
  ApplyBlame(matrix, blames, pair_verdicts_);
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_UNKNOWN);
}

}  // namespace
}  // namespace muster::controller::validation
