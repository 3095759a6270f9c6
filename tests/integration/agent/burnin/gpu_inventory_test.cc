// muster-burnin itself, with fake NVIDIA libraries in place of the driver's.
#include <google/protobuf/util/json_util.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/sys/process/process.h"
#include "muster/v1/validation.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"

namespace muster {
namespace {

using ::muster::testing::NvidiaFile;
using ::muster::testing::Said;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Property;
using ::testing::StartsWith;

struct Ran {
  int exit_code = -1;
  v1::CheckResult result;
};

// Standard input stays open, as under the agent.
Ran RunBurnin(const std::vector<std::string>& words, const NvidiaFile* file) {
  muster::testing::TempDir folder;
  std::vector<std::string> argv = {"/bin/sh", "-c",
                                   "mkfifo \"$0\" && exec 0<>\"$0\" && exec \"$@\"",
                                   folder.path() + "/input", MUSTER_BURNIN};
  argv.insert(argv.end(), words.begin(), words.end());
  argv.push_back("--json");
  sys::ProcessSpec spec = {.argv = argv, .timeout = absl::Seconds(60)};
  spec.max_output = 1 << 20;
  if (file != nullptr)
    spec.environment = {{"LD_LIBRARY_PATH", FAKE_NVIDIA_FOLDER},
                        {"MUSTER_FAKE_NVIDIA", file->path()}};
  const auto process = sys::RealProcessRunner().Run(spec);
  Ran ran;
  if (!process.ok() || process->timed_out || process->signal != 0) {
    ADD_FAILURE() << "muster-burnin did not end by itself: "
                  << (process.ok() ? process->output : process.status().ToString());
    return ran;
  }
  ran.exit_code = process->exit_code;
  const std::vector<std::string> lines = absl::StrSplit(process->out, '\n', absl::SkipWhitespace());
  for (const std::string& text : lines) {
    v1::WorkerLine line;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &line).ok()) << text;
    if (line.has_result()) ran.result = line.result();
  }
  return ran;
}

Ran RunOn(const std::string& gpus, std::vector<std::string> words = {}) {
  const NvidiaFile file(absl::StrCat("{\"gpus\":[", gpus, "]}"));
  words.insert(words.begin(), "gpu-inventory");
  return RunBurnin(words, &file);
}

TEST(GpuInventory, HealthyGpusPass) {
  const Ran ran = RunOn(R"({"preset":"rtx_2080_ti","count":4})",
                        {"--count", "4", "--model", "NVIDIA GeForce RTX 2080 Ti", "--memory",
                         "11GiB", "--pcie-generation", "3"});
  EXPECT_EQ(ran.exit_code, 0) << ran.result.reason();
  EXPECT_EQ(ran.result.outcome(), v1::OUTCOME_PASS);
  ASSERT_EQ(ran.result.subjects_size(), 4);
  EXPECT_EQ(ran.result.subjects(3).index(), 3u);
  EXPECT_THAT(ran.result.subjects(0).attributes().at("not_told"), HasSubstr("ecc_mode"));
  EXPECT_THAT(ran.result.metrics(), Contains(Property(&v1::Metric::name, "pcie_generation")));
  EXPECT_THAT(ran.result.metrics(), Not(Contains(Property(&v1::Metric::name, "ecc_corrected"))));
}

struct Case {
  const char* name;
  const char* gpu;
  std::vector<std::string> words;
  const char* fault;
};

class FaultyGpu : public ::testing::TestWithParam<Case> {};

TEST_P(FaultyGpu, FailsWithItsFault) {
  const Ran ran = RunOn(GetParam().gpu, GetParam().words);
  EXPECT_EQ(ran.exit_code, 1) << ran.result.reason();
  EXPECT_EQ(ran.result.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(ran.result.faults(), Contains(Property(&v1::Fault::code, GetParam().fault)));
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultyGpu,
    ::testing::Values(
        Case{"Count", "{}", {"--count", "4"}, "gpu_count"},
        Case{"Model", "{}", {"--model", "NVIDIA H100 80GB HBM3"}, "wrong_model"},
        Case{"Vbios", "{}", {"--vbios", "1.2,1.3"}, "wrong_vbios"},
        Case{"Driver", "{}", {"--driver", "550.163.01"}, "wrong_driver"},
        Case{"Memory", R"({"memory_bytes":8589934592})", {"--memory", "11GiB"}, "memory_missing"},
        Case{"PowerLimit", "{}", {"--power-limit", "300"}, "wrong_power_limit"},
        Case{"Persistence",
             R"({"persistence":false})",
             {"--persistence", "on"},
             "wrong_persistence"},
        Case{"ApplicationClocks",
             R"({"preset":"v100","application_clock_mhz":600})",
             {},
             "clock_low"},
        Case{"EccOff", R"({"preset":"v100","ecc":false})", {"--ecc", "on"}, "wrong_ecc"},
        Case{"EccOn", R"({"preset":"v100"})", {"--ecc", "off"}, "wrong_ecc"},
        Case{"NoEcc", "{}", {"--ecc", "on"}, "wrong_ecc"},
        Case{"Width", R"({"busy":{"pcie_width":8}})", {}, "pcie_degraded"},
        Case{"Generation", R"({"busy":{"pcie_generation":1}})", {}, "pcie_degraded"},
        Case{"Slot",
             R"({"preset":"h100","max_pcie_generation":4,"busy":{"pcie_generation":4}})",
             {"--pcie-generation", "5"},
             "pcie_degraded"},
        Case{"Ecc", R"({"preset":"v100","ecc_uncorrected":2})", {}, "ecc_uncorrected"},
        Case{"Remap", R"({"preset":"a100","remap_failed":true})", {}, "row_remap_failed"},
        Case{"Pending", R"({"preset":"a100","remap_pending":true})", {}, "row_remap_pending"},
        Case{"Pages", R"({"preset":"v100","retired_double":61})", {}, "pages_retired"},
        Case{"Nvlink", R"({"preset":"a100","nvlinks_up":11})", {}, "nvlink_down"},
        Case{"Bridge", "{}", {"--nvlinks", "2"}, "nvlink_down"},
        Case{"Fabric", R"({"preset":"h100","fabric_state":2})", {}, "fabric_not_ready"},
        Case{"FabricOfAnOlderDriver",
             R"({"preset":"h100","fabric_state":2,"answers":{"nvmlDeviceGetGpuFabricInfoV":13}})",
             {},
             "fabric_not_ready"},
        Case{"FabricFailed",
             R"({"preset":"h100","fabric_state":3,"fabric_status":999})",
             {},
             "fabric_error"},
        Case{"FabricDegraded",
             R"({"preset":"h100","fabric_state":3,"fabric_health":1})",
             {},
             "fabric_unhealthy"},
        // Every field says that all is well, but for the configuration.
        Case{"FabricMisconfigured",
             R"({"preset":"h100","fabric_state":3,"fabric_health":1450})",
             {},
             "fabric_unhealthy"},
        Case{"Hot", R"({"busy":{"temperature":95,"clock_reasons":72}})", {}, "thermal_throttle"},
        Case{"Lost", R"({},{"lost_after_s":0})", {}, "gpu_lost"},
        Case{"FallsOff", R"({"lost_after_s":0.001})", {}, "gpu_lost"},
        Case{"Hangs",
             R"({"hang":["nvmlDeviceGetEccMode"]})",
             {"--answer-timeout", "1s"},
             "driver_hangs"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(GpuInventory, HealthyFabricPasses) {
  // 2 in each flag of the health mask is "no", 1 in its configuration "correct".
  for (const char* gpu :
       {R"({"preset":"h100","fabric_state":3,"fabric_health":426})",
        R"({"preset":"h100","fabric_state":3,"fabric_health":0})",
        R"({"preset":"h100","fabric_state":2,"fabric_status":999,"preset":"a100"})"})
    EXPECT_EQ(RunOn(gpu).exit_code, 0) << gpu << RunOn(gpu).result.reason();
}

// Held at its target by the driver, after earlier work.
TEST(GpuInventory, CardAtItsTargetTemperaturePasses) {
  const auto card = [](int celsius) {
    const std::string now = absl::StrCat(R"({"temperature":)", celsius, R"(,"clock_reasons":32})");
    return absl::StrCat(R"({"max_temperature":89,"idle":)", now, R"(,"busy":)", now, "}");
  };
  EXPECT_EQ(RunOn(card(84)).exit_code, 0) << RunOn(card(84)).result.reason();
  const Ran hot = RunOn(card(88));
  EXPECT_THAT(hot.result.faults(), Contains(Property(&v1::Fault::code, "thermal_throttle")));
}

// Four of the twelve links of a card lead over one bridge of three.
TEST(GpuInventory, PartlyBridgedCardPasses) {
  const char* card = R"({"preset":"a100","name":"NVIDIA A100 80GB PCIe","nvlinks_up":4})";
  EXPECT_EQ(RunOn(card).exit_code, 0) << RunOn(card).result.reason();
  EXPECT_EQ(RunOn(card, {"--nvlinks", "8"}).exit_code, 1);
}

TEST(GpuInventory, CounterThatALinkLacksKeepsTheOthers) {
  const Ran ran = RunOn(R"({"preset":"a100","unsupported_link_counter":0,"nvlink_errors":3})");
  EXPECT_EQ(ran.exit_code, 0) << ran.result.reason();
  std::map<std::string, double> errors;
  for (const v1::Metric& metric : ran.result.metrics())
    if (metric.name() == "nvlink_errors") errors[metric.variant()] = metric.value();
  EXPECT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors["recovery"], 3);
  EXPECT_THAT(ran.result.subjects(0).attributes().at("not_told"),
              HasSubstr("nvlink_errors.replay"));
}

TEST(GpuInventory, ModesAreTold) {
  const Ran ran = RunOn(R"({"preset":"a100","mig":true,"compute_mode":3})");
  EXPECT_EQ(ran.exit_code, 0) << ran.result.reason();
  EXPECT_EQ(ran.result.subjects(0).attributes().at("mig_mode"), "on");
  EXPECT_EQ(ran.result.subjects(0).attributes().at("compute_mode"), "exclusive process");
}

// The only GPU has fallen off the bus: NVML then reports none.
TEST(GpuInventory, AllGpusGoneIsAFault) {
  const Ran ran = RunOn("", {"--count", "1"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.result.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(ran.result.faults(), Contains(Property(&v1::Fault::code, "gpu_count")));
  EXPECT_THAT(ran.result.reason(), Said());
  // No parameter requires one.
  const Ran unasked = RunOn("");
  EXPECT_EQ(unasked.exit_code, 2);
  EXPECT_THAT(unasked.result.reason(), Said());
}

TEST(GpuInventory, EccAsWantedPasses) {
  for (const auto& [gpu, ecc] : {std::pair(R"({"preset":"v100"})", "on"), std::pair("{}", "off")})
    EXPECT_EQ(RunOn(gpu, {"--ecc", ecc}).exit_code, 0) << gpu;
}

TEST(GpuInventory, HangingGpuDoesNotKeepTheOthersFromBeingRead) {
  const Ran ran = RunOn(R"({"hang":["cuMemAlloc_v2"]},{})", {"--answer-timeout", "3s"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.result.reason(), StartsWith("GPU 0 has not answered"));
  ASSERT_GT(ran.result.metrics_size(), 3);
  EXPECT_EQ(ran.result.metrics(ran.result.metrics_size() - 1).subject(),
            ran.result.subjects(1).id());
}

TEST(GpuInventory, LinkWithoutLoadIsUnknown) {
  const NvidiaFile file(R"({"cuda_init":999,"gpus":[{}]})");
  const Ran ran = RunBurnin({"gpu-inventory"}, &file);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.result.outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(ran.result.reason(), Said());
}

TEST(GpuInventory, MachineWithoutDriverIsUnknownWithTheRemedy) {
  const Ran ran = RunBurnin({"gpu-inventory"}, nullptr);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.result.reason(), Said());
}

TEST(GpuInventory, UnknownGpuIsUnknown) {
  const Ran ran = RunOn("{}", {"--gpus", "3"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.result.reason(), Said());
}

}  // namespace
}  // namespace muster
