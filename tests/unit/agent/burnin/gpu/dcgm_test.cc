// gpu-dcgm with a dcgmi that prints what the test says: DCGM itself needs real GPUs.
#include <dlfcn.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/burnin/gpu/checks.h"
#include "common/base/clock.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/unit/agent/burnin/gpu/recording_reporter.h"

namespace muster::burnin {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::NvidiaFile;
using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GpuDcgmTest : public ::testing::Test {
 protected:
  // The fake is found by its soname, since it is already loaded.
  static void SetUpTestSuite() { ASSERT_NE(dlopen(FAKE_NVML, RTLD_NOW), nullptr) << dlerror(); }

  CheckResult Run(const std::map<std::string, std::string>& words = {}) {
    const checks::CheckSpec& check = *checks::FindCheck("gpu-dcgm");
    const checks::Parameters parameters = checks::Parameters::Parse(check, words).value();
    CheckContext context = {parameters, reporter_, clock_, files_, processes_};
    CheckResult result = RunGpuDcgm(context);
    FinishResult(check, result);
    return result;
  }
  void Prints(const std::string& text, int status) {
    processes_.On("dcgmi", FakeProcessRunner::Prints(text, status));
  }
  static std::string Four(const std::string& tests) {
    return R"({"DCGM Diagnostic": {"metadata": {"version": "4.2.3"},
        "test_categories": [{"category": "Hardware", "tests": [)" +
           tests + "]}]}}";
  }
  static double Metric(const CheckResult& result, const std::string& name) {
    for (const muster::burnin::Metric& metric : result.metrics)
      if (metric.name == name) return metric.value;
    return -1;
  }

  const NvidiaFile file_{R"({"gpus":[{"preset":"a100","count":2}]})"};
  RecordingReporter reporter_;
  RealClock clock_;
  muster::testing::FakeFileSystem files_;
  FakeProcessRunner processes_;
};

TEST_F(GpuDcgmTest, PassesWhereEveryTestDid) {
  Prints(Four(R"({"name": "memory", "results": [{"entity_id": 0, "status": "Pass"},
                                                {"entity_id": 1, "status": "Warn"}]})"),
         0);
  const CheckResult result = Run();
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(Metric(result, "tests_passed"), 1);
  EXPECT_EQ(Metric(result, "tests_warned"), 1);
  EXPECT_THAT(result.tools, ElementsAre("dcgm 4.2.3"));
  EXPECT_THAT(result.subjects, SizeIs(2));
  EXPECT_THAT(processes_.commands(), ElementsAre("dcgmi diag --run 2 --json"));
}

TEST_F(GpuDcgmTest, TestThatFailedIsAFaultOfItsGpu) {
  Prints(Four(R"({"name": "targeted_power", "results": [{"entity_id": 0, "status": "Pass"},
      {"entity_id": 1, "status": "Fail", "warnings": [
        {"warning": "GPU 1 drew 180 W, not 250 W", "error_category": 14}]}]})"),
         226);
  const CheckResult result = Run({{"level", "3"}, {"gpus", "1"}});
  EXPECT_EQ(result.outcome, Outcome::kFail);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "dcgm_failed");
  EXPECT_EQ(result.faults[0].subject, "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_THAT(result.faults[0].message, Said());
  EXPECT_THAT(processes_.commands(), ElementsAre("dcgmi diag --run 3 --json -i 1"));
}

TEST_F(GpuDcgmTest, SettingOfTheNodeCondemnsNoGpu) {
  Prints(Four(R"({"name": "software", "results": [{"entity_id": 0, "status": "Fail", "warnings": [
        {"warning": "Persistence mode is off", "error_category": 3}]}]})"),
         226);
  const CheckResult result = Run();
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.faults, IsEmpty());
  EXPECT_THAT(result.reason, Said());
}

TEST_F(GpuDcgmTest, WhatCannotRunIsUnknown) {
  EXPECT_THAT(Run().reason, Said()) << "not installed";
  Prints("Error: unable to establish a connection to the specified host: localhost\n", 255);
  EXPECT_THAT(Run().reason, Said());
  Prints(Four(R"({"name": "memory", "results": [{"entity_id": 0, "status": "Skip",
                   "info": ["not supported on this device"]}]})"),
         0);
  EXPECT_THAT(Run().reason, Said());
  Prints(R"({"DCGM GPU Diagnostic": {"runtime_error": "unsupported GPU 0"}})", 1);
  EXPECT_THAT(Run().reason, Said());
  // It says that all is well and that it failed.
  Prints(Four(R"({"name": "memory", "results": [{"entity_id": 0, "status": "Pass"}]})"), 4);
  const CheckResult strange = Run();
  EXPECT_EQ(strange.outcome, Outcome::kUnknown);
  EXPECT_THAT(strange.reason, Said());
  processes_.On("dcgmi", sys::ProcessResult{.timed_out = true});
  EXPECT_EQ(Run().outcome, Outcome::kUnknown);
}

TEST_F(GpuDcgmTest, GpusAtWorkForOthersAreLeftAlone) {
  const NvidiaFile busy(R"({"gpus":[{"processes":[{"pid":4711}]}]})");
  files_.AddFile("/proc/4711/comm", "python3\n");
  EXPECT_EQ(Run().outcome, Outcome::kUnknown);
  EXPECT_THAT(processes_.commands(), IsEmpty());
}

}  // namespace
}  // namespace muster::burnin
