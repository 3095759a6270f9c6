#include "agent/burnin/json_lines.h"

#include <google/protobuf/util/json_util.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/burnin/curves.h"
#include "common/checks/catalog.h"
#include "muster/v1/validation.pb.h"

namespace muster::burnin {
namespace {

// Parsed like in the agent: an unknown field is an error.
v1::WorkerLine ParseLine(const std::string& line) {
  v1::WorkerLine parsed;
  const auto status = google::protobuf::util::JsonStringToMessage(line, &parsed);
  EXPECT_TRUE(status.ok()) << status.message().ToString() << "\n" << line;
  return parsed;
}

TEST(JsonLines, ProgressIsAWorkerLine) {
  const v1::WorkerLine line =
      ParseLine(ProgressLine({.phase = "fp16, 8192 × 8192",
                              .fraction = 0.25,
                              .samples = {{.at = absl::Milliseconds(1500),
                                           .subject = "GPU-1",
                                           .metric = "tflops",
                                           .variant = "fp16",
                                           .value = 51.5}},
                              .listening = Endpoint{.address = "10.0.0.1", .port = 4711}}));
  const v1::CheckProgress& progress = line.progress();
  EXPECT_EQ(progress.phase(), "fp16, 8192 × 8192");
  EXPECT_EQ(progress.fraction(), 0.25);
  EXPECT_EQ(progress.samples(0).at_s(), 1.5);
  EXPECT_EQ(progress.samples(0).variant(), "fp16");
  EXPECT_EQ(progress.listening().port(), 4711u);
}

TEST(JsonLines, UnknownFractionIsAbsent) {
  EXPECT_FALSE(ParseLine(ProgressLine({.phase = "waiting"})).progress().has_fraction());
}

TEST(JsonLines, ResultIsAWorkerLineWithAllFields) {
  FinishedCheck finished = {.check = "gpu-gemm",
                            .started_at = absl::FromUnixMillis(1'900'000'000'250),
                            .duration = absl::Milliseconds(2500)};
  CheckResult& result = finished.result;
  result.outcome = Outcome::kFail;
  result.reason = "bits differ";
  result.subjects = {{.id = "GPU-1",
                      .kind = "gpu",
                      .model = "m",
                      .slot = "0000:3b:00.0",
                      .index = 3,
                      .attributes = {{"serial", "1"}}}};
  result.metrics = {{.name = "tflops_median",
                     .variant = "fp16",
                     .subject = "GPU-1",
                     .unit = "TFLOPS",
                     .value = 5}};
  result.faults = {
      {.code = "bit_mismatch", .subject = "GPU-1", .message = "m", .evidence = {"0x10"}}};
  result.digests = {{.name = "d", .subject = "GPU-1", .value = "abcd"}};
  result.tools = {"own kernel sm_75"};
  result.lost_rank = 3;
  result.stopped = true;
  finished.samples = {{.at = absl::Seconds(1), .metric = "x", .value = 1}};
  const v1::CheckResult parsed = ParseLine(ResultLine(finished)).result();
  EXPECT_EQ(parsed.check(), "gpu-gemm");
  EXPECT_EQ(parsed.outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(parsed.started_at().seconds(), 1'900'000'000);
  EXPECT_EQ(parsed.started_at().nanos(), 250'000'000);
  EXPECT_EQ(parsed.seconds(), 2.5);
  EXPECT_EQ(parsed.subjects(0).index(), 3u);
  EXPECT_EQ(parsed.subjects(0).attributes().at("serial"), "1");
  EXPECT_EQ(parsed.metrics(0).unit(), "TFLOPS");
  EXPECT_EQ(parsed.faults(0).evidence(0), "0x10");
  EXPECT_EQ(parsed.digests(0).value(), "abcd");
  EXPECT_EQ(parsed.samples(0).metric(), "x");
  EXPECT_EQ(parsed.tools(0), "own kernel sm_75");
  EXPECT_EQ(parsed.lost_rank(), 3);
  EXPECT_TRUE(parsed.stopped());
}

TEST(JsonLines, BytesThatAreNoTextDoNotBreakALine) {
  FinishedCheck finished = {.check = "gpu-inventory"};
  finished.result = Unknown("serial \xff\xfe\n is odd");
  const std::string line = ResultLine(finished);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(ParseLine(line).result().outcome(), v1::OUTCOME_UNKNOWN);
}

// Eight GPUs with every number wrong, and with the most possible curves: a fail that the agent
// reads, and no line that it refuses.
TEST(JsonLines, LargestResultFitsIntoALineOfTheAgent) {
  constexpr size_t kAgentTakes = size_t{1} << 20;
  const char* const types[] = {"fp32", "fp64", "fp16", "bf16", "tf32", "fp8", "int8"};
  const char* const metrics[] = {"tflops_min",       "tflops_median", "tflops_max",
                                 "fraction_of_peak", "products",      "verified_products"};
  FinishedCheck finished = {.check = "gpu-gemm"};
  Curves curves;
  const auto uuid = [](int gpu) {
    return absl::StrCat("GPU-6a3e1f04-0f5c-9d1e-5f0a-2b7c1d9e8f1", gpu);
  };
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (const char* type : types) {
      for (const char* metric : metrics)
        AddMetric(finished.result, metric, type, uuid(gpu), 123.45678901234567);
      for (const char* code : {"bit_mismatch", "nan", "wrong_result"})
        AddFault(finished.result, code, uuid(gpu),
                 absl::StrCat("GPU (", uuid(gpu), "): 18446744073709551615 elements differ"),
                 std::vector<std::string>(256, std::string(300, 'x')));
      for (int i = 0; i < 3000; ++i)
        curves.Add({.at = absl::Milliseconds(1000 * i + 123),
                    .subject = uuid(gpu),
                    .metric = "power_watts",
                    .variant = type,
                    .value = 123.45678901234567 + i});
    }
  }
  finished.samples = curves.Samples();
  ASSERT_GT(finished.samples.size(), Curves::kMaxPointsInAll * 9 / 10);
  FinishResult(*checks::FindCheck("gpu-gemm"), finished.result);
  const std::string line = ResultLine(finished);
  EXPECT_LT(line.size(), kAgentTakes);
  const v1::CheckResult parsed = ParseLine(line).result();
  EXPECT_EQ(parsed.outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(parsed.faults_size(), 8 * 7 * 3);
  size_t evidence = 0;
  for (const v1::Fault& fault : parsed.faults()) {
    EXPECT_GT(fault.evidence_size(), 0);
    evidence += fault.evidence_size();
  }
  EXPECT_LE(evidence, 400u);
}

}  // namespace
}  // namespace muster::burnin
