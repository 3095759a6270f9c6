// gpu-copy and gpu-collective.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/integration/agent/burnin/worker_run.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;

const std::vector<std::string> kCopy = {"gpu-copy", "--size", "1MiB", "--time", "100ms"};
const std::vector<std::string> kCollective = {"gpu-collective", "--size", "1MiB", "--duration",
                                              "300ms"};

TEST(GpuCopy, MeasuresBothWaysAndEveryPair) {
  const WorkerRun run = RunWorker(R"({"preset":"a100","count":2,"copy_gbytes_per_s":2})", kCopy);
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  for (int gpu : {0, 1}) {
    // At the fake's configured speed, or slower on a busy machine.
    const double to_gpu = run.Metric("host_to_gpu_gbytes_per_s", "", UuidOf(gpu));
    EXPECT_GT(to_gpu, 0.05);
    EXPECT_LE(to_gpu, 2.1);
    EXPECT_GT(run.Metric("gpu_to_host_gbytes_per_s", "", UuidOf(gpu)), 0.05);
    EXPECT_GT(run.Metric("both_ways_gbytes_per_s", "", UuidOf(gpu)), 0.05);
    EXPECT_GT(run.Metric("gpu_to_gpu_gbytes_per_s", UuidOf(1 - gpu), UuidOf(gpu)), 0.05);
  }
}

// A GPU reaches eight others at a time: with ten of them the ninth pair used to end as gpu_error.
TEST(GpuCopy, MoreGpusThanOneReachesAtATime) {
  const WorkerRun run = RunWorker(R"({"preset":"a100","count":10,"backing_bytes":4194304})",
                                  {"gpu-copy", "--size", "64KiB", "--time", "1ms"});
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  for (int peer = 1; peer < 10; ++peer)
    EXPECT_GT(run.Metric("gpu_to_gpu_gbytes_per_s", UuidOf(peer), UuidOf(0)), 0) << peer;
}

TEST(GpuCopy, PairsWithoutAPathOfTheirOwnAreToldApart) {
  const WorkerRun run = RunWorker(R"({"preset":"rtx_2080_ti","count":2})", kCopy);
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  EXPECT_GT(run.Metric("gpu_to_gpu_staged_gbytes_per_s", UuidOf(1), UuidOf(0)), 0);
  EXPECT_TRUE(std::isnan(run.Metric("gpu_to_gpu_gbytes_per_s", UuidOf(1), UuidOf(0))));
}

constexpr char kOneHotGpu[] =
    R"({"preset":"a100","count":2},
       {"preset":"a100","busy":{"temperature":93},"idle":{"temperature":93},"max_temperature":90})";

// The others are measured to the end, and copies to and from the hot one soon stop.
TEST(GpuCopy, GpuAboveItsLimitIsLeftAlone) {
  const WorkerRun run =
      RunWorker(kOneHotGpu, {"gpu-copy", "--size", "1MiB", "--time", "1s", "--cool-down", "0s"});
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  ASSERT_EQ(run.Faults("too_hot").size(), 1) << run.result["faults"];
  EXPECT_EQ(run.Faults("too_hot")[0]["subject"], UuidOf(2));
  EXPECT_GT(run.Metric("gpu_to_gpu_gbytes_per_s", UuidOf(1), UuidOf(0)), 0);
  EXPECT_TRUE(std::isnan(run.Metric("gpu_to_gpu_gbytes_per_s", UuidOf(2), UuidOf(0))));
  EXPECT_TRUE(std::isnan(run.Metric("host_to_gpu_gbytes_per_s", "", UuidOf(2))));
}

TEST(GpuCollective, GpuAboveItsLimitEndsItForAll) {
  const absl::Time start = absl::Now();
  const WorkerRun run = RunWorker(
      kOneHotGpu, {"gpu-collective", "--size", "1MiB", "--duration", "2m", "--cool-down", "0s"});
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
  ASSERT_EQ(run.result["faults"].size(), 1) << run.result["faults"];
  EXPECT_EQ(run.Faults("too_hot")[0]["subject"], UuidOf(2));
}

TEST(GpuCopy, DamagedCopyIsFound) {
  const WorkerRun run = RunWorker(
      R"({"preset":"rtx_2080_ti","flips":{"memory_after_s":0,"memory_every_s":0.02,"bits":50}})",
      kCopy);
  ASSERT_EQ(run.Faults("copy_mismatch").size(), 1) << run.result["faults"];
  EXPECT_EQ(run.Faults("copy_mismatch")[0]["subject"], UuidOf(0));
}

TEST(GpuCollective, AddsUpAndTellsWhatTheLinksCarry) {
  const WorkerRun run = RunWorker(R"({"preset":"a100","count":4})", kCollective);
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  const double algbw = run.Metric("allreduce_algbw_gbytes_per_s", "", "");
  EXPECT_GT(algbw, 0);
  EXPECT_NEAR(run.Metric("allreduce_busbw_gbytes_per_s", "", ""), algbw * 1.5, algbw * 1e-6);
  EXPECT_EQ(run.result["tools"][0], "nccl 2.19.3");
}

TEST(GpuCollective, WrongSumIsFound) {
  // The sums are in the newest memory.
  const WorkerRun run = RunWorker(
      R"({"preset":"a100"},
         {"preset":"a100","flips":{"memory_after_s":0,"memory_every_s":0.01,"allocation":-1,
                                   "bits":100}})",
      kCollective);
  EXPECT_FALSE(run.Faults("wrong_result").empty()) << run.result["faults"];
}

TEST(GpuCollective, OneGpuIsSkipped) {
  const WorkerRun run = RunWorker(R"({"preset":"a100"})", kCollective);
  EXPECT_EQ(run.outcome(), "OUTCOME_SKIPPED");
  EXPECT_THAT(run.reason(), Said());
}

// No role installs NCCL: a suite that asks for it nevertheless must not keep nodes out.
TEST(GpuCollective, WithoutNcclIsSkipped) {
  if (std::filesystem::exists("/usr/lib/x86_64-linux-gnu/libnccl.so.2"))
    GTEST_SKIP() << "this machine has the package libnccl2";
  const WorkerRun run =
      RunWorker(FakeDriver{.nccl = false}, R"({"preset":"a100","count":2})", kCollective);
  EXPECT_EQ(run.outcome(), "OUTCOME_SKIPPED");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.reason(), Said());
  EXPECT_EQ(run.result["subjects"].size(), 2) << run.result;
}

}  // namespace
}  // namespace muster::burnin
