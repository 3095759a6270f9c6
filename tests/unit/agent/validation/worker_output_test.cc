#include "agent/validation/worker_output.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kPass[] = R"({"result":{"check":"gpu-gemm","outcome":"OUTCOME_PASS"}})";
constexpr char kStopped[] =
    R"({"result":{"check":"gpu-gemm","outcome":"OUTCOME_UNKNOWN","reason":"stopped: interrupted"}})";
constexpr char kFail[] =
    R"({"result":{"check":"gpu-gemm","outcome":"OUTCOME_FAIL","reason":"bits"}})";

TEST(WorkerOutput, PassesOnProgress) {
  WorkerOutput output("gpu-gemm");
  const auto progress = output.Take(
      R"({"progress":{"phase":"fp16","fraction":0.5,"samples":[{"metric":"tflops","value":9}]}})");
  ASSERT_OK(progress);
  ASSERT_TRUE(progress->has_value());
  EXPECT_EQ((*progress)->phase(), "fp16");
  EXPECT_EQ((*progress)->samples(0).value(), 9);
}

TEST(WorkerOutput, AGpuWorkerThatHadToBeKilledNamesItsFault) {
  const WorkerEnd end = {.signal = 9, .timed_out = true, .time_limit = absl::Seconds(90)};
  const v1::CheckResult result = WorkerOutput("gpu-gemm").Conclude(end);
  ASSERT_EQ(result.faults_size(), 1);
  EXPECT_EQ(result.faults(0).code(), "driver_hangs");
  EXPECT_THAT(result.faults(0).message(), Said());
  const v1::CheckResult other = WorkerOutput("disk").Conclude(end);
  EXPECT_EQ(other.outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(other.faults_size(), 0);
}

struct EndCase {
  const char* name;
  const char* line;
  WorkerEnd end;
  v1::Outcome outcome;
  const char* reason;
};

class WorkerEndTest : public ::testing::TestWithParam<EndCase> {};

TEST_P(WorkerEndTest, Concludes) {
  WorkerOutput output("gpu-gemm");
  if (GetParam().line != nullptr) output.Take(GetParam().line).IgnoreError();
  output.TakeError("cannot open libcuda.so.1");
  const v1::CheckResult result = output.Conclude(GetParam().end);
  EXPECT_EQ(result.check(), "gpu-gemm");
  EXPECT_EQ(result.outcome(), GetParam().outcome);
  EXPECT_THAT(result.reason(), AllOf(Said(), HasSubstr(GetParam().reason)));
}

INSTANTIATE_TEST_SUITE_P(
    Ends, WorkerEndTest,
    ::testing::Values(
        EndCase{"Pass", kPass, {}, v1::OUTCOME_PASS, ""},
        EndCase{"Fail", kFail, {.exit_code = 1}, v1::OUTCOME_FAIL, "bits"},
        EndCase{"CrashedAfterPass", kPass, {.signal = 11}, v1::OUTCOME_UNKNOWN, "signal 11"},
        EndCase{"PassWithExitOne", kPass, {.exit_code = 1}, v1::OUTCOME_UNKNOWN, "exit status 1"},
        EndCase{"PassAndHung", kPass, {.timed_out = true}, v1::OUTCOME_UNKNOWN, "time limit"},
        EndCase{"FailAndCrashed", kFail, {.signal = 11}, v1::OUTCOME_FAIL, "bits"},
        EndCase{"Nothing",
                nullptr,
                {.exit_code = 64},
                v1::OUTCOME_UNKNOWN,
                "exit status 64 and without a result: cannot open libcuda.so.1"},
        EndCase{"Killed", nullptr, {.signal = 9}, v1::OUTCOME_UNKNOWN, "memory ran out"},
        EndCase{"Crashed", nullptr, {.signal = 11}, v1::OUTCOME_UNKNOWN, "Segmentation"},
        EndCase{"Hung",
                nullptr,
                {.signal = 9, .timed_out = true, .time_limit = absl::Seconds(90)},
                v1::OUTCOME_FAIL,
                "did not end within its time limit of 1m30s"},
        EndCase{"HungInTheKernelAfterAStop",
                nullptr,
                {.signal = 9, .unkillable = true, .stop_reason = "stopped by alice"},
                v1::OUTCOME_FAIL,
                "a call into the kernel does not return"},
        EndCase{"HungInTheKernelAfterAPass",
                kPass,
                {.signal = 9, .unkillable = true},
                v1::OUTCOME_FAIL,
                "a call into the kernel does not return"},
        EndCase{"HungInTheKernelAfterAFail",
                kFail,
                {.signal = 9, .unkillable = true},
                v1::OUTCOME_FAIL,
                "bits"},
        EndCase{"Slow",
                nullptr,
                {.signal = 15, .timed_out = true, .time_limit = absl::Seconds(90)},
                v1::OUTCOME_UNKNOWN,
                "time limit of 1m30s"},
        EndCase{"SlowWithALastWord",
                kStopped,
                {.exit_code = 2, .timed_out = true, .time_limit = absl::Seconds(90)},
                v1::OUTCOME_UNKNOWN,
                "stopped: interrupted"},
        EndCase{"Stopped",
                nullptr,
                {.exit_code = 2, .stop_reason = "stopped by alice"},
                v1::OUTCOME_UNKNOWN,
                "stopped by alice"},
        EndCase{"Absent",
                nullptr,
                {.start = absl::NotFoundError("no program 'muster-burnin'")},
                v1::OUTCOME_UNKNOWN,
                "no program"},
        EndCase{"Garbage", "Segfault!", {}, v1::OUTCOME_UNKNOWN, "an invalid line: Segfault!"},
        EndCase{"OtherCheck",
                R"({"result":{"check":"disk","outcome":"OUTCOME_PASS"}})",
                {},
                v1::OUTCOME_UNKNOWN,
                "a result of 'disk'"},
        EndCase{"NoOutcome",
                R"({"result":{"check":"gpu-gemm"}})",
                {},
                v1::OUTCOME_UNKNOWN,
                "without an outcome"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(WorkerOutput, WhatIsNoNumberIsMissing) {
  WorkerOutput output("gpu-gemm");
  ASSERT_OK(
      output.Take(R"({"result":{"outcome":"OUTCOME_PASS","metrics":[{"name":"a","value":"NaN"},)"
                  R"({"name":"b","value":2},{"name":"c","value":"Infinity"}]}})"));
  const v1::CheckResult result = output.Conclude({});
  ASSERT_EQ(result.metrics_size(), 1);
  EXPECT_EQ(result.metrics(0).name(), "b");
}

TEST(WorkerOutput, RefusesWhatCouldDoHarm) {
  const std::string deep(5000, '[');
  const std::string endless =
      absl::StrCat(R"({"progress":{"phase":")", std::string(2 << 20, 'x'), R"("}})");
  for (const std::string& line : {deep, endless, std::string("{\"progress\":{\"phase\":\"\xff\"}}"),
                                  std::string("[]"), std::string("{")}) {
    SCOPED_TRACE(line.substr(0, 40));
    WorkerOutput output("gpu-gemm");
    EXPECT_THAT(output.Take(line), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
    // Nothing that comes later is accepted either.
    EXPECT_THAT(output.Take(kPass), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
    EXPECT_EQ(output.Conclude({}).outcome(), v1::OUTCOME_UNKNOWN);
  }
}

TEST(WorkerOutput, GarbageAfterAPassTakesItBackAndAfterAFailDoesNot) {
  for (const auto& [line, outcome] :
       {std::pair(kPass, v1::OUTCOME_UNKNOWN), std::pair(kFail, v1::OUTCOME_FAIL)}) {
    WorkerOutput output("gpu-gemm");
    ASSERT_OK(output.Take(line));
    EXPECT_FALSE(output.Take("*** stack smashing detected ***").ok());
    EXPECT_EQ(output.Conclude({.exit_code = 1}).outcome(), outcome);
  }
}

}  // namespace
}  // namespace muster::agent
