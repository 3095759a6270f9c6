#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/gpu/metrics/metrics_text.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/nvidia_file.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> LinesOf(const std::string& world, std::optional<unsigned> expected = {}) {
  const NvidiaFile file(world);
  muster::testing::FakeFileSystem files;
  return absl::StrSplit(MetricsText(SampleGpus(files, FAKE_NVML), expected), '\n',
                        absl::SkipEmpty());
}

TEST(GpuMetrics, AreThoseThatTheGpuReports) {
  const std::vector<std::string> server =
      LinesOf(R"({"gpus":[{"preset":"a100"},{"preset":"a100"}]})", 2);
  EXPECT_THAT(server, Contains("muster_gpu_driver_up 1"));
  EXPECT_THAT(server, Contains("muster_gpu_count 2"));
  EXPECT_THAT(server, Contains("muster_gpu_expected 2"));
  EXPECT_THAT(server, Contains(AllOf(StartsWith("muster_gpu_info{gpu=\"1\","),
                                     HasSubstr("model=\"NVIDIA A100-SXM4-80GB\""))));
  EXPECT_THAT(server, Contains(AllOf(StartsWith("muster_gpu_ecc_errors_total{gpu=\"0\","),
                                     HasSubstr("kind=\"uncorrected\"} 0"))));
  const std::vector<std::string> consumer = LinesOf(R"({"gpus":[{"preset":"gtx_1080_ti"}]})");
  EXPECT_THAT(consumer, Each(Not(HasSubstr("ecc_errors"))));
  EXPECT_THAT(consumer, Each(Not(HasSubstr("muster_gpu_expected"))));
  EXPECT_THAT(consumer, Contains(StartsWith("muster_gpu_temperature_celsius{gpu=\"0\"")));
}

// An idle H100 keeps 480 MiB for its driver, which the first version of the function calls used.
TEST(GpuMetrics, MemoryThatTheDriverKeepsForItselfIsNotUsed) {
  const auto used = [](const std::string& bytes) {
    return Contains(AllOf(StartsWith("muster_gpu_memory_used_bytes{gpu=\"0\","),
                          HasSubstr(absl::StrCat("} ", bytes))));
  };
  EXPECT_THAT(LinesOf(R"({"gpus":[{"preset":"h100"}]})"), used("0"));
  const std::string busy =
      R"({"gpus":[{"preset":"h100","processes":[{"pid":7,"memory_bytes":1048576}]}]})";
  EXPECT_THAT(LinesOf(busy), used("1048576"));
}

TEST(GpuMetrics, LinksFabricAndMemoryOfAServer) {
  const std::vector<std::string> lines = LinesOf(
      R"({"gpus":[{"preset":"h100","nvlinks_up":16,"nvlink_errors":7,"fabric_state":3,
                   "fabric_health":1,"memory_max_temperature":95,
                   "idle":{"memory_temperature":97},"busy":{"memory_temperature":97}}]})");
  const auto has = [](const std::string& name, const std::string& label, int value) {
    return Contains(AllOf(StartsWith(absl::StrCat(name, "{gpu=\"0\",")), HasSubstr(label),
                          HasSubstr(absl::StrCat("} ", value))));
  };
  EXPECT_THAT(lines, has("muster_gpu_nvlinks_up", "", 16));
  EXPECT_THAT(lines, has("muster_gpu_nvlinks_missing", "", 2));
  EXPECT_THAT(lines, has("muster_gpu_nvlink_errors_total", "kind=\"recovery\"", 7));
  EXPECT_THAT(lines, has("muster_gpu_nvlink_errors_total", "kind=\"crc_data\"", 0));
  EXPECT_THAT(lines, has("muster_gpu_fabric_trouble", "kind=\"not_ready\"", 0));
  EXPECT_THAT(lines, has("muster_gpu_fabric_trouble", "kind=\"unhealthy\"", 1));
  EXPECT_THAT(lines, has("muster_gpu_memory_temperature_celsius", "", 97));
  EXPECT_THAT(lines, has("muster_gpu_memory_temperature_limit_celsius", "", 95));
  // Without links, a fabric or a sensor nothing is said of them.
  for (const std::string& line : LinesOf(R"({"gpus":[{"preset":"l40s"}]})"))
    EXPECT_THAT(line, AllOf(Not(HasSubstr("nvlink")), Not(HasSubstr("fabric")),
                            Not(HasSubstr("memory_temperature"))));
}

TEST(GpuMetrics, ALostGpuCountsAsGoneAndIsNamed) {
  const std::vector<std::string> lines =
      LinesOf(R"({"gpus":[{"preset":"a100"},{"preset":"a100","lost_after_s":0}]})", 2);
  EXPECT_THAT(lines, Contains("muster_gpu_count 1"));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("muster_gpu_lost{gpu=\"1\""), HasSubstr("} 1"))));
  EXPECT_THAT(lines, Each(Not(StartsWith("muster_gpu_power_watts{gpu=\"1\""))));
}

// A dead card has several errors: unknown, insufficient power.
TEST(GpuMetrics, AGpuThatAnswersWithAnErrorIsLost) {
  for (const char* function : {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetTemperature"}) {
    for (const int code : {999, 8}) {
      SCOPED_TRACE(absl::StrCat(function, " ", code));
      const std::vector<std::string> lines =
          LinesOf(absl::StrCat(R"({"gpus":[{"preset":"a100"},{"preset":"a100","answers":{")",
                               function, R"(":)", code, "}}]}"));
      EXPECT_THAT(lines, Contains("muster_gpu_count 1"));
      EXPECT_THAT(lines, Contains(AllOf(StartsWith("muster_gpu_lost{gpu=\"1\""),  //
                                        HasSubstr("} 1"))));
    }
    // One that is not for us, or does not tell, is there.
    for (const int code : {nvml::kNoPermission, nvml::kNotSupported}) {
      SCOPED_TRACE(absl::StrCat(function, " ", code));
      EXPECT_THAT(LinesOf(absl::StrCat(R"({"gpus":[{"preset":"a100","answers":{")", function,
                                       R"(":)", code, "}}]}")),
                  Contains("muster_gpu_count 1"));
    }
  }
}

// The driver holds consumer cards at a target below their highest operating temperature, by design.
TEST(GpuMetrics, ATargetTemperatureIsNoSlowdownByHeat) {
  const auto slowed = [](const std::string& reason, int value) {
    return Contains(AllOf(StartsWith("muster_gpu_slowed{gpu=\"0\","),
                          HasSubstr(absl::StrCat("reason=\"", reason, "\"} ", value))));
  };
  const auto lines = [](int celsius, unsigned reasons) {
    const std::string now =
        absl::StrCat(R"({"temperature":)", celsius, R"(,"clock_reasons":)", reasons, "}");
    return LinesOf(absl::StrCat(R"({"gpus":[{"preset":"rtx_2080_ti","max_temperature":89,"idle":)",
                                now, R"(,"busy":)", now, "}]}"));
  };
  const std::vector<std::string> at_target = lines(83, nvml::kReasonSoftwareThermal);
  EXPECT_THAT(at_target, slowed("thermal", 0));
  EXPECT_THAT(at_target, slowed("thermal_target", 1));
  const std::vector<std::string> at_limit = lines(88, nvml::kReasonSoftwareThermal);
  EXPECT_THAT(at_limit, slowed("thermal", 1));
  EXPECT_THAT(at_limit, slowed("thermal_target", 0));
  EXPECT_THAT(lines(60, nvml::kReasonHardwareThermal), slowed("thermal", 1));
}

// Newer models know no temperature for that, and tell how far above it they are.
TEST(GpuMetrics, AGpuAboveItsHighestOperatingTemperatureIsSlowedByHeat) {
  const auto lines = [](int margin) {
    const std::string now = absl::StrCat(R"({"memory_temperature":60,"margin":)", margin,
                                         R"(,"clock_reasons":)", nvml::kReasonSoftwareThermal, "}");
    return LinesOf(absl::StrCat(R"({"gpus":[{"preset":"h100","max_temperature":0,
                                            "slowdown_temperature":0,"memory_max_temperature":95,
                                            "least_margin":0,"idle":)",
                                now, R"(,"busy":)", now, "}]}"));
  };
  const auto slowed = [](const std::string& reason) {
    return Contains(AllOf(StartsWith("muster_gpu_slowed{gpu=\"0\","),
                          HasSubstr(absl::StrCat("reason=\"", reason, "\"} 1"))));
  };
  for (const int margin : {1, 0, -5}) EXPECT_THAT(lines(margin), slowed("thermal")) << margin;
  EXPECT_THAT(lines(20), slowed("thermal_target"));
}

TEST(GpuMetrics, ModesOfAGpu) {
  const std::vector<std::string> lines =
      LinesOf(R"({"gpus":[{"preset":"a100","mig":true,"persistence":false}]})");
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("muster_gpu_mig{"), HasSubstr("} 1"))));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("muster_gpu_persistence{"), HasSubstr("} 0"))));
}

// After an update the library is newer than the module that is loaded.
TEST(GpuMetrics, ADriverThatDoesNotAnswerSaysWhy) {
  EXPECT_THAT(LinesOf(R"({"nvml_init":18})"),
              Contains(AllOf(StartsWith("# muster_gpu_driver_up is 0: "), HasSubstr("(18)"),
                             HasSubstr("reboot"))));
}

TEST(GpuMetrics, WithoutADriverThatIsAllThatIsSaid) {
  muster::testing::FakeFileSystem files;
  std::vector<std::string> lines =
      absl::StrSplit(MetricsText(SampleGpus(files, "libno-such-library.so.1"), 8), '\n');
  // The loader's own words follow.
  const auto why = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return absl::StartsWith(line, "# muster_gpu_driver_up is 0: ");
  });
  ASSERT_NE(why, lines.end());
  EXPECT_THAT(*why, HasSubstr("libno-such-library.so.1"));
  EXPECT_THAT(*why, HasSubstr("install the driver"));
  lines.erase(why);
  EXPECT_EQ(absl::StrJoin(lines, "\n"),
            "# HELP muster_gpu_driver_up Whether the driver answers\n"
            "# TYPE muster_gpu_driver_up gauge\n"
            "muster_gpu_driver_up 0\n"
            "# HELP muster_gpu_count GPUs that the driver has and that answer\n"
            "# TYPE muster_gpu_count gauge\n"
            "muster_gpu_count 0\n"
            "# HELP muster_gpu_expected GPUs that the node should have\n"
            "# TYPE muster_gpu_expected gauge\n"
            "muster_gpu_expected 8\n");
}

TEST(GpuMetrics, EachNameHasItsHeadOnceAndBeforeItsLines) {
  std::set<std::string> seen;
  std::string present;
  for (const std::string& line : LinesOf(R"({"gpus":[{"preset":"a100"},{"preset":"a100"}]})", 2)) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" {"));
    if (line[0] == '#') {
      EXPECT_TRUE(words[1] == "TYPE" || seen.insert(words[2]).second) << line;
      present = words[2];
    } else {
      EXPECT_EQ(words[0], present) << line;
    }
  }
  EXPECT_GT(seen.size(), 15u);
}

TEST(GpuMetrics, ALabelCannotBreakOutOfItsQuotes) {
  NodeSample sample{.driver_version = "1", .gpus = {{.model = "a\"b\\c\nd"}}};
  sample.gpus[0].values.resize(GpuMetrics().size());
  EXPECT_THAT(MetricsText(sample, std::nullopt), HasSubstr("model=\"a\\\"b\\\\c\\nd\""));
}

}  // namespace
}  // namespace muster::burnin
