#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/burnin/system/clock_check.h"
#include "agent/burnin/system/disk.h"
#include "agent/burnin/system/file_systems.h"
#include "agent/burnin/system/machine_errors.h"
#include "agent/burnin/system/stress.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(Tracking, IsReadFromChronycsCommas) {
  const auto tracking = ParseTracking(
      "A9FEA97B,169.254.169.123,4,1763712000.123,-0.000012345,0.000001,0.000010,-12.3,0.001,0.02,"
      "0.000400,0.000100,64.2,Normal\n");
  ASSERT_OK(tracking.status());
  EXPECT_EQ(tracking->stratum, 4);
  EXPECT_DOUBLE_EQ(tracking->offset_s, -0.000012345);
  EXPECT_DOUBLE_EQ(tracking->root_error_s, 0.0003);
  EXPECT_TRUE(tracking->synchronised);
}

TEST(Tracking, ClockWithoutAServerIsNotSynchronised) {
  const auto tracking =
      ParseTracking("7F7F0101,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised");
  ASSERT_OK(tracking.status());
  EXPECT_FALSE(tracking->synchronised);
}

TEST(Tracking, AnythingElseIsRefused) {
  EXPECT_THAT(ParseTracking("506 Cannot talk to daemon").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// As stress-ng 0.15.06 prints them.
constexpr char kStress[] =
    "stress-ng: info:  [20498] dispatching hogs: 1 cpu\n"
    "stress-ng: metrc: [20498] stressor       bogo ops real time  usr time  sys time   bogo ops/s"
    "     bogo ops/s\n"
    "stress-ng: metrc: [20498]                           (secs)    (secs)    (secs)   (real time)"
    " (usr+sys time)\n"
    "stress-ng: metrc: [20498] cpu                1478      2.19      0.65      0.00       675.19"
    "        2257.08\n"
    "stress-ng: info:  [20498] successful run completed in 2.19s\n";

TEST(Stress, RateIsTheOneOfRealTime) {
  EXPECT_EQ(StressRate(kStress, "cpu"), 675.19);
  EXPECT_EQ(StressRate(kStress, "vm"), std::nullopt);
  EXPECT_EQ(StressRate("stress-ng: metrc: [1] cpu 1", "cpu"), std::nullopt);
  EXPECT_THAT(StressFailures(kStress), SizeIs(0));
}

TEST(Stress, VersionIsFound) {
  EXPECT_EQ(StressVersion("stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux 6.1.0-9-amd64)\n"),
            "0.15.06");
  EXPECT_EQ(StressVersion("stress-ng, version 0.17.06\n"), "0.17.06");
  EXPECT_EQ(StressVersion(""), "");
  EXPECT_EQ(StressVersion(kStress), "");
}

TEST(Stress, FailuresAreFound) {
  EXPECT_THAT(StressFailures("stress-ng: fail:  [12] cpu: fft error detected\nstress-ng: info: x"),
              ElementsAre("stress-ng: fail:  [12] cpu: fft error detected"));
}

// As stress-ng 0.15.06 prints it with --oomable --verbose; it ends with status 0.
constexpr char kKilled[] =
    "stress-ng: debug: [11393] vm: child died: signal 9 'SIGKILL' (instance 0)\n"
    "stress-ng: debug: [11393] vm: assuming killed by OOM killer, bailing out (instance 0)\n"
    "stress-ng: debug: [11393] vm: exited [11393] (instance 0)\n"
    "stress-ng: warn:  [11393] vm: WARNING: finished prematurely after just 1.10s\n";

TEST(Stress, WorkersThatMemoryRanOutForAreCounted) {
  EXPECT_EQ(StressOomKills(kStress), 0u);
  EXPECT_EQ(StressOomKills(absl::StrCat(kKilled, kKilled)), 2u);
}

TEST(Fio, RatesOfOneDirectionAreRead) {
  const auto rates = ParseFio(
      R"(fio: a remark
{"fio version":"fio-3.33","jobs":[{"error":0,"write":{"bw_bytes":0},"read":{"bw_bytes":1000000,
"iops":244.5,"clat_ns":{"percentile":{"99.000000":2500000}}}}]})",
      "read");
  ASSERT_OK(rates.status());
  EXPECT_EQ(rates->bytes_per_s, 1e6);
  EXPECT_EQ(rates->iops, 244.5);
  EXPECT_DOUBLE_EQ(rates->latency_p99_s, 0.0025);
}

TEST(Fio, WhatIsNoResultIsRefused) {
  for (const char* text : {"", "{}", "{\"jobs\":[]}", "{\"jobs\":[7]}", "{\"jobs\":", "fio: no"})
    EXPECT_THAT(ParseFio(text, "read").status(), StatusIs(absl::StatusCode::kInvalidArgument, _))
        << text;
  EXPECT_THAT(ParseFio(R"({"jobs":[{"error":28,"read":{}}]})", "read").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(Mounts, AreReadWithTheirOptions) {
  const std::vector<MountedAt> mounts = ParseMounts(
      "/dev/sda1 / ext4 rw,relatime 0 0\nnas:/a /mnt/with\\040space nfs4 ro,vers=4.2 0 0\nodd\n");
  ASSERT_THAT(mounts, SizeIs(2));
  EXPECT_FALSE(mounts[0].read_only);
  EXPECT_EQ(mounts[1].path, "/mnt/with space");
  EXPECT_EQ(mounts[1].type, "nfs4");
  EXPECT_TRUE(mounts[1].read_only);
}

TEST(MachineErrors, MachineChecksAreAddedUpOverProcessors) {
  EXPECT_EQ(CountMachineChecks(" NMI:  7  9  Non-maskable interrupts\n"
                               " MCE:  1  2  Machine check exceptions\n"),
            3);
  EXPECT_EQ(CountMachineChecks(""), 0);
}

}  // namespace
}  // namespace muster::burnin
