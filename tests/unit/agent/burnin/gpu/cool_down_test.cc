#include "agent/burnin/gpu/cool_down.h"

#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/agent/burnin/gpu/recording_reporter.h"

namespace muster::burnin {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::NvidiaFile;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kStart = absl::FromUnixSeconds(1'900'000'000);

TEST(CoolDown, WaitsUntilAllAreAtRest) {
  CoolDown cooling(kStart, absl::Minutes(5));
  EXPECT_TRUE(cooling.Waits(kStart, {24, -3}));
  EXPECT_TRUE(cooling.Waits(kStart + absl::Seconds(20), {12, -5}));
  EXPECT_TRUE(cooling.Waits(kStart + absl::Seconds(40), {1, -5}));
  EXPECT_FALSE(cooling.Waits(kStart + absl::Seconds(45), {0, -5}));
}

TEST(CoolDown, CoolGpusWaitForNothingAndNeitherDoThoseThatTellNothing) {
  EXPECT_FALSE(CoolDown(kStart, absl::Minutes(5)).Waits(kStart, {-20, -21}));
  EXPECT_FALSE(CoolDown(kStart, absl::Minutes(5)).Waits(kStart, {}));
}

TEST(CoolDown, EndsInTimeThoughItGrowsCooler) {
  CoolDown cooling(kStart, absl::Seconds(50));
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(cooling.Waits(kStart + absl::Seconds(i), {100.0 - i})) << i;
  EXPECT_FALSE(cooling.Waits(kStart + absl::Seconds(50), {50}));
  EXPECT_FALSE(CoolDown(kStart, absl::ZeroDuration()).Waits(kStart, {100}));
}

TEST(CoolDown, EndsWhereTheRoomIsTooWarmForRest) {
  CoolDown cooling(kStart, absl::Minutes(5));
  EXPECT_TRUE(cooling.Waits(kStart, {9}));
  EXPECT_TRUE(cooling.Waits(kStart + absl::Seconds(10), {4}));
  EXPECT_TRUE(cooling.Waits(kStart + absl::Seconds(25), {5}));
  EXPECT_TRUE(cooling.Waits(kStart + absl::Seconds(39), {4}));
  EXPECT_FALSE(cooling.Waits(kStart + absl::Seconds(40), {4}));
}

class AwaitRestTest : public ::testing::Test {
 protected:
  absl::Status Await(const std::string& cool_down = "5m") {
    gpus_.nvml = Nvml::Load(FAKE_NVML).value();
    gpus_.chosen.clear();
    result_.subjects.clear();
    for (unsigned i = 0; i < gpus_.nvml->DeviceCount().value(); ++i) {
      gpus_.chosen.push_back({.index = i,
                              .uuid = absl::StrCat("GPU-", i),
                              .nvml = NvmlDevice(*gpus_.nvml, gpus_.nvml->DeviceAt(i).value())});
      result_.subjects.push_back({.id = gpus_.chosen.back().uuid});
    }
    const checks::Parameters parameters =
        checks::Parameters::Parse(*checks::FindCheck("gpu-gemm"), {{"cool-down", cool_down}})
            .value();
    CheckContext context = {parameters, reporter_, clock_, files_, processes_, clock_.Now()};
    const absl::Time start = clock_.Now();
    const absl::Status status = AwaitRest(context, gpus_, result_);
    waited_ = clock_.Now() - start;
    return status;
  }
  // Both conditions are equal: the fake's GPU may count as busy because of an earlier test.
  static std::string Gpu(int celsius) {
    const std::string condition = absl::StrCat(R"({"temperature":)", celsius, "}");
    return absl::StrCat(R"({"idle":)", condition, R"(,"busy":)", condition, "}");
  }
  static std::string World(const std::string& gpus) {
    return absl::StrCat(R"({"gpus":[)", gpus, "]}");
  }

  RecordingReporter reporter_;
  FakeClock clock_;
  muster::testing::FakeFileSystem files_;
  muster::testing::FakeProcessRunner processes_;
  Gpus gpus_;
  CheckResult result_;
  absl::Duration waited_;
};

TEST_F(AwaitRestTest, TellsWhatItWaitsForAndGoesOnWhenAllAreCool) {
  NvidiaFile file(World(absl::StrCat(Gpu(45), ",", Gpu(84))));
  reporter_.on_phase = [&](absl::string_view) {
    file.Write(World(absl::StrCat(Gpu(45), ",", Gpu(reporter_.phases().size() < 2 ? 70 : 60))));
  };
  ASSERT_OK(Await());
  EXPECT_THAT(reporter_.phases(), ElementsAre("cooling: GPU-1 84 °C, waiting for 60 °C",
                                              "cooling: GPU-1 70 °C, waiting for 60 °C"));
  EXPECT_EQ(waited_, absl::Seconds(2));
  EXPECT_THAT(reporter_.samples(), SizeIs(4));
  EXPECT_THAT(result_.subjects[1].attributes, IsEmpty());
}

TEST_F(AwaitRestTest, GpusThatStayWarmStartWarmAndItIsNoted) {
  const NvidiaFile file(World(absl::StrCat(Gpu(45), ",", Gpu(66))));
  ASSERT_OK(Await());
  EXPECT_EQ(waited_, kSettled);
  EXPECT_THAT(result_.subjects[0].attributes, IsEmpty());
  EXPECT_EQ(result_.subjects[1].attributes.at("warm_at_start_celsius"), "66");
  ASSERT_OK(Await("10s"));
  EXPECT_EQ(waited_, absl::Seconds(10));
  ASSERT_OK(Await("0s"));
  EXPECT_EQ(waited_, absl::ZeroDuration());
}

TEST(RestCelsius, LowLimitMeansACoolerRest) {
  EXPECT_EQ(RestCelsius(HeatLimit{70, "x"}), 55);
  EXPECT_EQ(RestCelsius(HeatLimit{90, "x"}), 60);
  EXPECT_EQ(RestCelsius(std::nullopt), 60);
}

TEST_F(AwaitRestTest, StopsWhenTheCheckIsToStop) {
  const NvidiaFile file(World(Gpu(84)));
  reporter_.stop = true;
  EXPECT_THAT(Await(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST(AwaitRest, DriverThatHangsIsAFault) {
  const NvidiaFile file(R"({"gpus":[{"hang":["nvmlDeviceGetTemperature"]}]})");
  // A hanging thread outlives the test, and so must everything that it uses.
  static auto* const clock = new FakeClock;
  RecordingReporter reporter;
  muster::testing::FakeFileSystem files;
  muster::testing::FakeProcessRunner processes;
  const checks::Parameters parameters =
      checks::Parameters::Parse(*checks::FindCheck("gpu-gemm"), {}).value();
  CheckContext context = {parameters, reporter, *clock, files, processes, clock->Now()};
  Gpus gpus;
  gpus.nvml = Nvml::Load(FAKE_NVML).value();
  gpus.chosen.push_back(
      {.uuid = "GPU-0", .nvml = NvmlDevice(*gpus.nvml, gpus.nvml->DeviceAt(0).value())});
  std::thread later([] {
    RealClock().Sleep(absl::Milliseconds(200));
    clock->Advance(absl::Seconds(20));
  });
  CheckResult result;
  EXPECT_THAT(AwaitRest(context, gpus, result), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
  later.join();
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "driver_hangs");
  EXPECT_EQ(result.faults[0].subject, "GPU-0");
}

}  // namespace
}  // namespace muster::burnin
