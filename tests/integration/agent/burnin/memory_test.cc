#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/integration/agent/burnin/worker_run.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kGoodT4[] = R"({"preset":"t4","backing_bytes":2097152})";

std::string WithT4(const std::string& more) {
  return absl::StrCat(R"({"preset":"t4","backing_bytes":2097152,)", more, "}");
}

std::vector<std::string> Memory(const std::string& patterns) {
  return {"gpu-memory", "--patterns", patterns, "--fade-time", "500ms"};
}

TEST(GpuMemory, GoodMemoryPassesEveryPattern) {
  const WorkerRun run =
      RunWorker(absl::StrCat(kGoodT4, ",", kGoodT4),
                Memory("address,walking-ones,walking-zeros,inversions,random,fade"));
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  for (int gpu : {0, 1}) {
    EXPECT_GE(run.Metric("memory_tested_share", "", UuidOf(gpu)), 0.94);
    EXPECT_EQ(run.Metric("passes", "", UuidOf(gpu)), 1);
    EXPECT_GT(run.Metric("memory_gbytes_per_s", "", UuidOf(gpu)), 0);
  }
}

TEST(GpuMemory, FlippedBitIsFoundWithAddressAndValues) {
  const WorkerRun run = RunWorker(
      absl::StrCat(kGoodT4, ",", WithT4(R"("flips":{"kernel_every":10,"allocation":-1})")),
      Memory("walking-ones"));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  const auto faults = run.Faults("bit_mismatch");
  ASSERT_EQ(faults.size(), 1);
  EXPECT_EQ(faults[0]["subject"], UuidOf(1));
  EXPECT_THAT(faults[0]["message"].get<std::string>(), HasSubstr(SlotOf(1)));
  EXPECT_THAT(faults[0]["evidence"][0].get<std::string>(),
              AllOf(HasSubstr("walking-ones"), HasSubstr("address 0x"), HasSubstr("expected 0x"),
                    HasSubstr("differing bits 0x")));
}

TEST(GpuMemory, GpuAboveItsLimitEndsItsTestAtOnce) {
  const absl::Time start = absl::Now();
  const WorkerRun run = RunWorker(
      WithT4(R"("busy":{"temperature":91},"idle":{"temperature":91},"max_temperature":89)"),
      {"gpu-memory", "--patterns", "fade", "--fade-time", "2m", "--cool-down", "0s"});
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  EXPECT_EQ(run.Faults("too_hot").size(), 1);
  EXPECT_EQ(run.Metric("temperature_max_celsius", "", UuidOf(0)), 91);
  EXPECT_EQ(run.Metric("thermal_headroom_kelvin", "", UuidOf(0)), -2);
}

TEST(GpuMemory, ManyFlipsAreCountedButListedOnlyUpToABound) {
  const WorkerRun run =
      RunWorker(WithT4(R"("flips":{"kernel_every":3,"allocation":-1,"bits":3000})"),
                Memory("inversions,random"));
  const auto faults = run.Faults("bit_mismatch");
  ASSERT_EQ(faults.size(), 1);
  EXPECT_EQ(faults[0]["evidence"].size(), 100);
}

// Flipped while nobody touches it: only the waiting pattern sees it.
TEST(GpuMemory, FadingBitIsFound) {
  const WorkerRun run =
      RunWorker(WithT4(R"("flips":{"memory_after_s":0.2,"memory_every_s":0.1,"allocation":-1})"),
                Memory("fade"));
  EXPECT_EQ(run.Faults("bit_mismatch").size(), 1);
}

TEST(GpuMemory, GpuThatFallsOffTheBusIsAtFault) {
  const WorkerRun run = RunWorker(WithT4(R"("lost_after_s":0.3)"), Memory("fade"));
  ASSERT_EQ(run.Faults("gpu_lost").size(), 1) << run.result["faults"];
  EXPECT_EQ(run.Faults("gpu_lost")[0]["subject"], UuidOf(0));
}

TEST(GpuMemory, WithoutMemoryNothingCanBeTold) {
  const WorkerRun run = RunWorker(R"({"preset":"t4","backing_bytes":65536})", Memory("address"));
  EXPECT_EQ(run.outcome(), "OUTCOME_UNKNOWN");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.reason(), AllOf(Said(), HasSubstr(UuidOf(0))));
  EXPECT_TRUE(std::isnan(run.Metric("memory_tested_share", "", UuidOf(0))));
}

TEST(GpuMemory, NoPatternIsUnknown) {
  for (const char* patterns : {",", ""}) {
    const WorkerRun run =
        RunWorker(R"({"preset":"rtx_2080_ti"})", {"gpu-memory", "--patterns", patterns});
    EXPECT_EQ(run.outcome(), "OUTCOME_UNKNOWN");
    EXPECT_NE(run.reason().find("patterns"), std::string::npos) << run.reason();
  }
}

}  // namespace
}  // namespace muster::burnin
