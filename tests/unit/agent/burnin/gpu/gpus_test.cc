#include "agent/burnin/gpu/gpus.h"

#include <dlfcn.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/gpu_choice.h"
#include "common/base/clock.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/agent/burnin/gpu/recording_reporter.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const std::vector<std::string> kUuids = {"GPU-a", "GPU-b", "GPU-c", "GPU-d"};

TEST(ChooseGpus, TakesIndicesRangesAndUuids) {
  EXPECT_THAT(ChooseGpus({}, kUuids).value(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ChooseGpus({"2-3", "GPU-a", "2"}, kUuids).value(), ElementsAre(0, 2, 3));
}

TEST(ChooseGpus, RefusesWhatIsNotThere) {
  for (const char* word : {"4", "0-4", "3-2", "-1", "GPU-x", "all", "1-", "99999999999999"})
    EXPECT_THAT(ChooseGpus({word}, kUuids).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << word;
}

// The fake is found by its soname, since it is already loaded.
class OpenGpusTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_NE(dlopen(FAKE_NVML, RTLD_NOW), nullptr) << dlerror(); }

  absl::StatusOr<Gpus> Open(bool force = false, const std::string& words = "") {
    const checks::Parameters parameters =
        checks::Parameters::Parse(*checks::FindCheck("gpu-inventory"), {{"gpus", words}}).value();
    CheckContext context = {parameters, reporter_, clock_, files_, processes_, {}, 0, 1, "", force};
    return OpenGpus(context, result_);
  }

  RecordingReporter reporter_;
  RealClock clock_;
  muster::testing::FakeFileSystem files_;
  muster::testing::FakeProcessRunner processes_;
  CheckResult result_;
};

TEST_F(OpenGpusTest, GivesTheChosenOnesAndTheirSubjects) {
  const NvidiaFile file(R"({"gpus":[{"preset":"v100","count":4}]})");
  const auto gpus = Open(false, "1-2");
  ASSERT_OK(gpus.status());
  EXPECT_EQ(gpus->count, 4u);
  ASSERT_THAT(gpus->chosen, SizeIs(2));
  EXPECT_EQ(gpus->chosen[0].index, 1u);
  ASSERT_THAT(result_.subjects, SizeIs(2));
  EXPECT_EQ(result_.subjects[1].slot, "0000:3d:00.0");
  EXPECT_EQ(result_.subjects[1].attributes.at("power_limit_watts"), "300");
  EXPECT_EQ(result_.subjects[1].attributes.at("serial"), "1650000000002");
}

TEST_F(OpenGpusTest, RefusesGpusAtWorkForOthersAndNamesThem) {
  const NvidiaFile file(R"({"gpus":[{},{"processes":[{"pid":4711},{"pid":4712}]}]})");
  files_.AddFile("/proc/4711/comm", "python3\n");
  EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(Open(/*force=*/true).status());
  EXPECT_OK(Open(false, "0").status());
}

TEST_F(OpenGpusTest, WhatDrawsWithMuchMemoryIsWorkAndADisplayIsNamed) {
  files_.AddFile("/proc/812/comm", "Xorg\n");
  {
    const NvidiaFile rests(
        R"({"gpus":[{"processes":[{"pid":812,"memory_bytes":209715200,"graphics":true}]}]})");
    EXPECT_OK(Open().status());
    ASSERT_THAT(result_.subjects, SizeIs(1));
    EXPECT_EQ(result_.subjects[0].attributes.at("displays"), "Xorg (812)");
  }
  const NvidiaFile draws(
      R"({"gpus":[{"processes":[{"pid":812,"memory_bytes":2097152000,"graphics":true}]}]})");
  EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(OpenGpusTest, WhoWorksThereMustBeKnown) {
  for (const char* function :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"}) {
    SCOPED_TRACE(function);
    const NvidiaFile broken(absl::StrCat(R"({"gpus":[{},{"answers":{")", function, R"(":999}}]})"));
    EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
    EXPECT_OK(Open(false, "0").status());
    EXPECT_OK(Open(/*force=*/true).status());
  }
}

// It used to count as an idle GPU, which would have been burned under somebody's work.
TEST_F(OpenGpusTest, WhatADriverDoesNotTellIsNotIdle) {
  const auto world = [](const char* kind, int answer) {
    std::string answers;
    for (const char* suffix : {"_v3", "_v2", ""})
      absl::StrAppend(&answers, answers.empty() ? "" : ",", "\"nvmlDeviceGet", kind,
                      "RunningProcesses", suffix, "\":", answer);
    return absl::StrCat(R"({"gpus":[{"answers":{)", answers, "}}]}");
  };
  {
    const NvidiaFile lacks(world("Compute", nvml::kFunctionNotFound));
    EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
    EXPECT_OK(Open(/*force=*/true).status());
  }
  {
    const NvidiaFile lacks(world("Graphics", nvml::kFunctionNotFound));
    EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  }
  {
    const NvidiaFile untold(world("Compute", nvml::kNotSupported));
    EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  }
  // A GPU that cannot draw.
  const NvidiaFile computes(world("Graphics", nvml::kNotSupported));
  EXPECT_OK(Open().status());
}

TEST_F(OpenGpusTest, GpuInMigModeIsRefusedByName) {
  const NvidiaFile file(R"({"gpus":[{"preset":"a100"},{"preset":"a100","mig":true}]})");
  EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(Open(/*force=*/true).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ASSERT_OK(Open(false, "0").status());
  EXPECT_EQ(result_.subjects.back().attributes.at("mig_mode"), "off");
  EXPECT_EQ(result_.subjects.back().attributes.at("compute_mode"), "default");
}

TEST_F(OpenGpusTest, GpuThatIsProhibitedForProgramsIsRefusedByName) {
  const NvidiaFile file(R"({"gpus":[{"compute_mode":2},{"compute_mode":3}]})");
  EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ASSERT_OK(Open(false, "1").status());
  EXPECT_EQ(result_.subjects.back().attributes.at("compute_mode"), "exclusive process");
}

TEST_F(OpenGpusTest, LostGpuIsAFaultAndTheOthersAreTested) {
  const NvidiaFile file(R"({"gpus":[{},{"lost_after_s":0},{}]})");
  const auto gpus = Open();
  ASSERT_OK(gpus.status());
  EXPECT_THAT(gpus->chosen, SizeIs(2));
  ASSERT_THAT(result_.faults, SizeIs(1));
  EXPECT_EQ(result_.faults[0].code, "gpu_lost");
  EXPECT_THAT(result_.faults[0].message, Said());
}

TEST_F(OpenGpusTest, NoGpuAndNoDriverAreSaid) {
  const NvidiaFile none(R"({"gpus":[]})");
  EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kNotFound, Said()));
  const NvidiaFile unloaded(R"({"nvml_init":9})");
  EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(OpenGpusTest, CardsThatNoDriverDrivesAreNamedBySlot) {
  const auto add = [&](const std::string& slot, const char* vendor, const char* kind) {
    files_.AddFile("/sys/bus/pci/devices/" + slot + "/vendor", vendor);
    files_.AddFile("/sys/bus/pci/devices/" + slot + "/class", kind);
  };
  add("0000:3d:00.0", "0x10de\n", "0x030200\n");
  add("0000:3b:00.0", "0x10de\n", "0x030000\n");
  add("0000:3b:00.1", "0x10de\n", "0x040300\n");  // its sound device
  add("0000:03:00.0", "0x1a03\n", "0x030000\n");  // the board's own graphics
  const NvidiaFile unloaded(R"({"nvml_init":9})");
  EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  const NvidiaFile none(R"({"gpus":[]})");
  EXPECT_THAT(Open().status(), StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::burnin
