// Which processes work on a GPU, by drivers of all ages.
#include "agent/burnin/gpu/other_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;

// Two that compute, one that draws much and one that shows a desktop.
constexpr char kProcesses[] =
    R"("processes":[{"pid":4711,"memory_bytes":1048576},{"pid":4712,"memory_bytes":8589934592},
       {"pid":4713,"memory_bytes":8589934592,"graphics":true},
       {"pid":4714,"memory_bytes":1048576,"graphics":true}])";

absl::StatusOr<OtherWork> Read(const char* library, const std::string& driver,
                               const std::string& answers = "") {
  const NvidiaFile file(absl::StrCat(R"({"driver_version":")", driver, R"(","gpus":[{"answers":{)",
                                     answers, "},", kProcesses, "}]}"));
  const std::unique_ptr<Nvml> nvml = Nvml::Load(library).value();
  return ReadOtherWork(NvmlDevice(*nvml, nvml->DeviceAt(0).value()));
}

void ExpectAll(const absl::StatusOr<OtherWork>& work) {
  ASSERT_OK(work.status());
  EXPECT_THAT(work->working, ElementsAre(4711, 4712, 4713));
  EXPECT_THAT(work->displays, ElementsAre(4714));
}

constexpr char kLacksV3[] =
    R"("nvmlDeviceGetComputeRunningProcesses_v3":13,"nvmlDeviceGetGraphicsRunningProcesses_v3":13)";

TEST(OtherWork, IsFoundByTheCallOfEveryGeneration) {
  ExpectAll(Read(FAKE_NVML, "550.163.01"));
  ExpectAll(Read(FAKE_NVML, "470.256.02", kLacksV3));
  ExpectAll(Read(FAKE_OLD_NVML, "390.157"));
}

// These drivers write entries of 32 bytes where 24 are declared.
TEST(OtherWork, IsFoundWhereADriverWritesWiderEntries) {
  for (const char* driver : {"535.43.02", "535.54.03", "535.86.05"}) {
    SCOPED_TRACE(driver);
    ExpectAll(Read(FAKE_NVML, driver));
  }
}

TEST(OtherWork, ImpossibleProcessMeansThatNothingIsKnown) {
  const NvidiaFile file(R"({"gpus":[{"processes":[{"pid":4711},{"pid":4294967295}]}]})");
  const std::unique_ptr<Nvml> nvml = Nvml::Load(FAKE_NVML).value();
  EXPECT_THAT(ReadOtherWork(NvmlDevice(*nvml, nvml->DeviceAt(0).value())),
              StatusIs(absl::StatusCode::kInternal, _));
}

}  // namespace
}  // namespace muster::burnin
