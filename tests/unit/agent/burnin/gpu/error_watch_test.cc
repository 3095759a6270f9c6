// Errors that a GPU counts while it is loaded.
#include "agent/burnin/gpu/error_watch.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/health/limits.h"
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

class ErrorWatchTest : public ::testing::Test {
 protected:
  // What a check sees that ends with `after`.
  CheckResult Judge(const std::string& before, const std::string& after) {
    NvidiaFile file(World(before));
    Gpus gpus;
    gpus.nvml = Nvml::Load(FAKE_NVML).value();
    for (unsigned i = 0; i < gpus.nvml->DeviceCount().value(); ++i)
      gpus.chosen.push_back({.index = i,
                             .uuid = absl::StrCat("GPU-", i),
                             .pci_address = absl::StrCat("0000:", i == 0 ? "3b" : "3c", ":00.0"),
                             .nvml = NvmlDevice(*gpus.nvml, gpus.nvml->DeviceAt(i).value())});
    const checks::Parameters parameters =
        checks::Parameters::Parse(*checks::FindCheck("gpu-gemm"), {}).value();
    CheckContext context = {parameters, reporter_, clock_, files_, processes_, clock_.Now()};
    ErrorWatch watch(context, gpus);
    file.Write(World(after));
    if (between_) between_();
    CheckResult result;
    watch.Finish(result);
    return result;
  }
  static std::string World(const std::string& gpus) {
    return absl::StrCat(R"({"gpus":[)", gpus, "]}");
  }
  static double New(const CheckResult& result, const std::string& counter,
                    const std::string& uuid = "GPU-0") {
    const auto found =
        std::find_if(result.metrics.begin(), result.metrics.end(), [&](const Metric& metric) {
          return metric.name == "new_errors" && metric.variant == counter && metric.subject == uuid;
        });
    return found != result.metrics.end() ? found->value : -1;
  }

  RecordingReporter reporter_;
  RealClock clock_;
  muster::testing::FakeFileSystem files_;
  FakeProcessRunner processes_;
  std::function<void()> between_;
};

constexpr char kA100[] = R"({"preset":"a100"})";

TEST_F(ErrorWatchTest, OldErrorsAreNotTheChecks) {
  const std::string worn = R"({"preset":"a100","ecc_corrected":9,"remapped_corrected":2,
                               "pcie_replays":7000,"nvlink_errors":5})";
  const CheckResult result = Judge(worn, worn);
  EXPECT_THAT(result.faults, IsEmpty());
  EXPECT_EQ(result.outcome, Outcome::kPass);
  for (const char* counter : {"ecc_corrected", "ecc_uncorrected", "remapped_rows", "pcie_replays",
                              "nvlink_recovery", "nvlink_crc_flit"})
    EXPECT_EQ(New(result, counter), 0) << counter;
  // Such a GPU has none.
  EXPECT_EQ(New(result, "retired_pages"), -1);
}

struct Growth {
  const char* after;
  const char* counter;
  double grown;
  const char* fault;
};

TEST_F(ErrorWatchTest, NewErrorsAreFaultsOfTheGpu) {
  for (const Growth& growth :
       {Growth{R"({"preset":"a100","ecc_corrected":1})", "ecc_corrected", 1, "errors_under_load"},
        Growth{R"({"preset":"a100","ecc_uncorrected":2})", "ecc_uncorrected", 2, "ecc_uncorrected"},
        Growth{R"({"preset":"a100","remapped_uncorrected":1})", "remapped_rows", 1,
               "errors_under_load"},
        Growth{R"({"preset":"a100","pcie_replays":81})", "pcie_replays", 81, "errors_under_load"},
        Growth{R"({"preset":"a100","nvlink_errors":1})", "nvlink_recovery", 1,
               "errors_under_load"}}) {
    SCOPED_TRACE(growth.counter);
    const CheckResult result =
        Judge(absl::StrCat(kA100, ",", kA100), absl::StrCat(growth.after, ",", kA100));
    EXPECT_EQ(New(result, growth.counter), growth.grown);
    EXPECT_EQ(New(result, growth.counter, "GPU-1"), 0);
    ASSERT_THAT(result.faults, SizeIs(1));
    EXPECT_EQ(result.faults[0].code, growth.fault);
    EXPECT_EQ(result.faults[0].subject, "GPU-0");
    EXPECT_THAT(result.faults[0].message, Said());
  }
}

TEST_F(ErrorWatchTest, PagesOfOlderGpusCountToo) {
  const CheckResult result =
      Judge(R"({"preset":"v100"})", R"({"preset":"v100","retired_double":1})");
  EXPECT_EQ(New(result, "retired_pages"), 1);
  EXPECT_THAT(result.faults, SizeIs(1));
}

TEST_F(ErrorWatchTest, FewRepetitionsOnALinkAreTolerated) {
  const CheckResult result = Judge(kA100, R"({"preset":"a100","pcie_replays":80})");
  EXPECT_EQ(New(result, "pcie_replays"), 80);
  EXPECT_THAT(result.faults, IsEmpty());
}

// A link that repeats a packet now and then does so in hours of load more often than in seconds.
TEST_F(ErrorWatchTest, RepetitionsOnALinkAreToleratedByTheirRate) {
  const NvidiaFile file(World(kA100));
  const auto nvml = Nvml::Load(FAKE_NVML).value();
  const Gpu gpu = {.index = 0,
                   .uuid = "GPU-0",
                   .pci_address = "0000:3b:00.0",
                   .nvml = NvmlDevice(*nvml, nvml->DeviceAt(0).value())};
  const auto faults = [&](absl::string_view name, double grown, absl::Duration between) {
    const ErrorCounts before(ErrorCounters().size(), 0);
    ErrorCounts after = before;
    for (size_t i = 0; i < after.size(); ++i) {
      if (ErrorCounters()[i].name == name) after[i] = grown;
    }
    CheckResult result;
    JudgeNewErrors(gpu, before, after, between, result);
    return result.faults.size();
  };
  EXPECT_EQ(faults("nvlink_crc_flit", 150, absl::Minutes(5)), 0u);
  EXPECT_EQ(faults("nvlink_crc_data", 31'000, absl::Minutes(5)), 1u);
  EXPECT_EQ(faults("pcie_replays", 81, absl::Minutes(5)), 1u);
  // A check tolerates what health does.
  const muster::health::Limits health;
  const double replays_in_an_hour = 60 * health.Of("pcie_replay.per_minute");
  EXPECT_EQ(faults("pcie_replays", replays_in_an_hour, absl::Hours(1)), 0u);
  EXPECT_EQ(faults("pcie_replays", replays_in_an_hour + 1, absl::Hours(1)), 1u);
  EXPECT_EQ(faults("nvlink_replay", health.Of("nvlink_replay.per_day"), absl::Hours(8)), 0u);
  EXPECT_EQ(faults("nvlink_replay", health.Of("nvlink_replay.per_day") + 1, absl::Hours(8)), 1u);
  EXPECT_EQ(faults("ecc_corrected", 1, absl::Hours(8)), 1u);
}

TEST_F(ErrorWatchTest, CounterThatCanNoLongerBeReadIsUnknown) {
  const CheckResult result =
      Judge(kA100, R"({"preset":"a100","answers":{"nvmlDeviceGetTotalEccErrors":999}})");
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
}

TEST_F(ErrorWatchTest, XidsOfTheTimeBetweenAreFaultsOfTheirGpu) {
  const std::string old =
      "[    0.000000] Linux version 6.1.0\n"
      "[  100.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n";
  processes_.On("dmesg", FakeProcessRunner::Prints(old));
  between_ = [&] {
    processes_.On("dmesg",
                  FakeProcessRunner::Prints(absl::StrCat(
                      old, "[  200.000000] NVRM: Xid (PCI:0000:3C:00): 94, pid=7, Contained\n",
                      "[  201.000000] NVRM: Xid (PCI:0000:3b:00): 45, pid=8, Ch 00000010\n",
                      "[  202.000000] NVRM: Xid (PCI:0000:5e:00): 79, another GPU\n")));
  };
  const CheckResult result =
      Judge(absl::StrCat(kA100, ",", kA100), absl::StrCat(kA100, ",", kA100));
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].code, "xid");
  EXPECT_EQ(result.faults[0].subject, "GPU-1");
  EXPECT_THAT(result.faults[0].message, Said());
  EXPECT_THAT(result.faults[0].evidence, SizeIs(1));
  EXPECT_EQ(New(result, "xid", "GPU-0"), 0);
  EXPECT_EQ(New(result, "xid", "GPU-1"), 1);
}

TEST_F(ErrorWatchTest, WithoutTheKernelsLogNothingIsSaidOfXids) {
  const CheckResult result = Judge(kA100, kA100);
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_EQ(New(result, "xid"), -1);
}

}  // namespace
}  // namespace muster::burnin
