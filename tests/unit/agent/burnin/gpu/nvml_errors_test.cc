// Every error of NVML from every call: nothing crashes or hangs, and none becomes a pass.
#include <dlfcn.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/driver/nvml_abi.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/gpu/inventory/judge.h"
#include "agent/burnin/gpu/inventory/reading.h"
#include "common/base/clock.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/unit/agent/burnin/gpu/recording_reporter.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;

#define MUSTER_NVML_NAME(function, parameters) nvml::function::kName,
constexpr const char* kCalls[] = {MUSTER_NVML_FUNCTIONS(MUSTER_NVML_NAME)};
#undef MUSTER_NVML_NAME

// nvmlReturn_t, but for success and the three that mean "this GPU or driver has no such value".
constexpr int kErrors[] = {1,  2,  4,  5,  6,  7,  8,  9,  10, 11, 12, 14, 15, 16,
                           17, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 29, 30, 999};
constexpr int kUntold[] = {nvml::kNotSupported, nvml::kFunctionNotFound,
                           nvml::kArgumentVersionMismatch};

// Calls about the machine, which the fake answers by other fields.
bool IsAboutAGpu(absl::string_view call) {
  return absl::StartsWith(call, "nvmlDeviceGet") && call != nvml::DeviceGetCount_v2::kName;
}

// Read while a check loads GPUs, or by muster-burnin metrics: no part of the inventory.
bool IsOfTheInventory(absl::string_view call) {
  for (const absl::string_view other :
       {"RunningProcesses", "GetPowerUsage", "GetUtilizationRates", "GetTemperatureThreshold",
        "GetMarginTemperature", "GetFieldValues", "GetSupportedEventTypes",
        "GetCurrentClocksEventReasons",
        // Asked only where the newer call is missing.
        "GetGpuFabricInfo", "GetMemoryInfo"})
    if (absl::EndsWith(call, other) || absl::StrContains(call, "RunningProcesses")) return false;
  return true;
}

class NvmlErrors : public ::testing::Test {
 protected:
  // The fake is found by its soname, since it is already loaded.
  static void SetUpTestSuite() { ASSERT_NE(dlopen(FAKE_NVML, RTLD_NOW), nullptr) << dlerror(); }

  // What a check says of a GPU whose `call` answers `error`.
  template <typename Check>
  Outcome With(const char* preset, absl::string_view call, int error, Check check) {
    file_.Write(absl::StrCat(R"({"gpus":[{"preset":")", preset,
                             R"(","fabric_state":3,"idle":{"pcie_generation":5},"answers":{")",
                             call, R"(":)", error, "}}]}"));
    const checks::CheckSpec& spec = *checks::FindCheck("gpu-inventory");
    const checks::Parameters parameters = checks::Parameters::Parse(spec, {}).value();
    CheckContext context = {parameters, reporter_, clock_, files_, processes_, clock_.Now()};
    CheckResult result = check(context);
    FinishResult(spec, result);
    return result.outcome;
  }

  NvidiaFile file_{"{}"};
  RecordingReporter reporter_;
  RealClock clock_;
  muster::testing::FakeFileSystem files_;
  muster::testing::FakeProcessRunner processes_;
};

// The inventory, but for the traffic on the link, for which the fake would copy much.
CheckResult ReadAndJudge(CheckContext& context) {
  CheckResult result;
  const absl::StatusOr<Gpus> gpus = OpenGpusToRead(context, result);
  if (!gpus.ok()) return Unknown(std::string(gpus.status().message()));
  const PcieLoad load = [](const std::string&, const std::function<void()>& read) {
    read();
    return absl::OkStatus();
  };
  for (const Gpu& gpu : gpus->chosen) JudgeGpu(gpu, ReadGpu(gpu, load), {}, result);
  return result;
}

// An H100 reads everything but retired pages, which a V100 has.
const char* PresetFor(absl::string_view call) {
  return absl::StrContains(call, "RetiredPages") ? "v100" : "h100";
}

TEST_F(NvmlErrors, NoneIsAPassOfTheInventory) {
  ASSERT_EQ(With("h100", "nothing", 0, ReadAndJudge), Outcome::kPass);
  ASSERT_EQ(With("v100", "nothing", 0, ReadAndJudge), Outcome::kPass);
  for (const char* call : kCalls) {
    if (!IsAboutAGpu(call)) continue;
    for (const int error : kErrors) {
      const Outcome outcome = With(PresetFor(call), call, error, ReadAndJudge);
      if (!IsOfTheInventory(call)) continue;
      EXPECT_NE(outcome, Outcome::kPass) << call << " " << error;
    }
  }
}

TEST_F(NvmlErrors, ValueThatAModelDoesNotHaveIsNoFault) {
  for (const char* call :
       {nvml::DeviceGetSerial::kName, nvml::DeviceGetEccMode::kName, nvml::DeviceGetMigMode::kName,
        nvml::DeviceGetComputeMode::kName, nvml::DeviceGetNvLinkErrorCounter::kName,
        nvml::DeviceGetPcieReplayCounter::kName})
    for (const int error : kUntold)
      EXPECT_EQ(With("h100", call, error, ReadAndJudge), Outcome::kPass) << call << " " << error;
}

// What says who works there, and on how much of the GPU, must be known before it is loaded.
TEST_F(NvmlErrors, NoneLetsAGpuBeLoadedThatMayBeBusyOrSliced) {
  const auto open = [](CheckContext& context) {
    CheckResult result;
    const absl::StatusOr<Gpus> gpus = OpenGpus(context, result);
    return gpus.ok() ? result : Unknown(std::string(gpus.status().message()));
  };
  ASSERT_EQ(With("h100", "nothing", 0, open), Outcome::kPass);
  for (const char* call : {nvml::DeviceGetComputeRunningProcesses_v3::kName,
                           nvml::DeviceGetGraphicsRunningProcesses_v3::kName,
                           nvml::DeviceGetMigMode::kName, nvml::DeviceGetComputeMode::kName}) {
    for (const int error : kErrors) {
      if (error == nvml::kGpuIsLost || error == nvml::kResetRequired) continue;  // found at work
      EXPECT_EQ(With("h100", call, error, open), Outcome::kUnknown) << call << " " << error;
    }
  }
}

}  // namespace
}  // namespace muster::burnin
