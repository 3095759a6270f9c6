#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/validation/worker_output.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/worker_process.h"
#include "tests/integration/agent/burnin/worker_run.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGood[] = R"({"preset":"rtx_2080_ti","backing_bytes":4194304})";

std::string With(const std::string& more) {
  return absl::StrCat(R"({"preset":"rtx_2080_ti","backing_bytes":4194304,)", more, "}");
}

std::vector<std::string> Gemm(const std::string& types, const std::string& duration = "1s") {
  // The testing machine may have a cuBLAS, which cannot run on the fake driver.
  return {"gpu-gemm", "--engine", "own", "--size", "128", "--types", types, "--duration", duration};
}

std::string NotMeasured(const WorkerRun& run, size_t gpu) {
  return run.result["subjects"][gpu]["attributes"].value("not_measured", "");
}

TEST(GpuGemm, GoodGpusPassAndAgree) {
  const WorkerRun run = RunWorker(absl::StrCat(kGood, ",", kGood), Gemm("fp32,fp16,int8"));
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  EXPECT_EQ(run.exit_code, 0);
  for (const char* type : {"fp32", "fp16", "int8"}) {
    for (int gpu : {0, 1}) {
      const std::string uuid = UuidOf(gpu);
      const double low = run.Metric("tflops_min", type, uuid);
      EXPECT_GT(low, 0) << type;
      EXPECT_GE(run.Metric("tflops_median", type, uuid), low);
      EXPECT_GE(run.Metric("tflops_max", type, uuid), run.Metric("tflops_median", type, uuid));
      EXPECT_GT(run.Metric("fraction_of_peak", type, uuid), 0);
      EXPECT_GT(run.Metric("products", type, uuid), 0);
      EXPECT_EQ(run.Metric("verified_products", type, uuid), run.Metric("products", type, uuid));
    }
  }
  EXPECT_EQ(run.Metric("temperature_max_celsius", "", UuidOf(0)), 68);
  std::map<std::string, std::set<std::string>> digests;
  for (const auto& digest : run.result["digests"])
    digests[digest["name"]].insert(digest["value"].get<std::string>());
  EXPECT_EQ(digests.size(), 3);
  EXPECT_TRUE(digests.count("gemm fp16 128 seed 1 own kernel gemm_f16_sm75"));
  for (const auto& [name, values] : digests) EXPECT_EQ(values.size(), 1) << name;
}

// Like `nvidia-smi -lgc 300`: every bit is right, and nothing says why it is slow.
TEST(GpuGemm, LockedClocksAreAFault) {
  const std::string low = R"({"sm_clock_mhz":300,"clock_reasons":0})";
  const WorkerRun run =
      RunWorker(absl::StrCat(kGood, ",", With(absl::StrCat("\"idle\":", low, ",\"busy\":", low))),
                Gemm("int8", "4s"));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  const auto faults = run.Faults("clock_low");
  ASSERT_EQ(faults.size(), 1);
  EXPECT_EQ(faults[0]["subject"], UuidOf(1));
  EXPECT_THAT(run.reason(), Said());
}

// A driver that is too old for every kernel: nothing was measured.
TEST(GpuGemm, GpuThatCanDoNoTypeIsUnknown) {
  const WorkerRun run =
      RunWorker(FakeDriver{.cuda_version = 8000}, kGood,
                {"gpu-gemm", "--engine", "own", "--size", "128", "--duration", "1s"});
  EXPECT_EQ(run.outcome(), "OUTCOME_UNKNOWN");
  EXPECT_THAT(run.reason(), AllOf(Said(), HasSubstr(UuidOf(0))));
}

// The same digest on another day, another one for another seed: the fleet compares these.
TEST(GpuGemm, DigestsDependOnTheSeedAlone) {
  std::vector<std::string> values;
  for (const char* seed : {"1", "1", "2"}) {
    std::vector<std::string> arguments = Gemm("int8", "200ms");
    arguments.insert(arguments.end(), {"--seed", seed});
    values.push_back(RunWorker(kGood, arguments).result["digests"][0]["value"]);
  }
  EXPECT_EQ(values[0], values[1]);
  EXPECT_NE(values[0], values[2]);
}

TEST(GpuGemm, FlippedBitsAreFoundAndNamedByUuidAndSlot) {
  // The results are in the newest memory: five of them, so that flips hit a result that waits for
  // its comparison.
  const std::string bad =
      R"({"preset":"rtx_2080_ti","backing_bytes":524288,
          "flips":{"kernel_every":1,"allocation":-1,"bits":20}})";
  const WorkerRun run = RunWorker(absl::StrCat(kGood, ",", bad), Gemm("fp16", "2s"));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  EXPECT_EQ(run.exit_code, 1);
  const auto faults = run.Faults("bit_mismatch");
  ASSERT_EQ(faults.size(), 1);
  EXPECT_EQ(faults[0]["subject"], UuidOf(1));
  EXPECT_THAT(faults[0]["message"].get<std::string>(),
              AllOf(HasSubstr(UuidOf(1)), HasSubstr(SlotOf(1))));
  ASSERT_FALSE(faults[0]["evidence"].empty());
  EXPECT_LE(faults[0]["evidence"].size(), 100);
  EXPECT_THAT(faults[0]["evidence"][0].get<std::string>(),
              AllOf(HasSubstr("expected 0x"), HasSubstr("read 0x"), HasSubstr("address 0x")));
}

// A wrong golden result agrees with itself, but the host and the other GPUs do not agree with it.
TEST(GpuGemm, WrongInputIsFoundByTheOtherGpus) {
  // The golden product, the result of the third kernel, comes from an input that the second
  // flipped.
  const WorkerRun run =
      RunWorker(absl::StrCat(kGood, ",", kGood, ",",
                             With(R"("flips":{"kernel_every":2,"allocation":2,"bits":2000})")),
                Gemm("int8", "300ms"));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  const auto digests = run.Faults("digest_mismatch");
  ASSERT_EQ(digests.size(), 1);
  EXPECT_EQ(digests[0]["subject"], UuidOf(2));
  const auto wrong = run.Faults("wrong_result");
  ASSERT_EQ(wrong.size(), 1);
  EXPECT_EQ(wrong[0]["subject"], UuidOf(2));
}

TEST(GpuGemm, ThermalThrottleFailsWithTheCurve) {
  const WorkerRun run =
      RunWorker(With(R"("busy":{"temperature":94,"clock_reasons":64,"sm_clock_mhz":600})"),
                Gemm("fp32", "3s"));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  ASSERT_EQ(run.Faults("thermal_throttle").size(), 1);
  EXPECT_EQ(run.Faults("thermal_throttle")[0]["subject"], UuidOf(0));
  EXPECT_EQ(run.Metric("temperature_max_celsius", "", UuidOf(0)), 94);
  int points = 0;
  for (const auto& sample : run.result["samples"])
    points += sample["metric"] == "temperature_celsius" && sample["value"] == 94;
  EXPECT_GE(points, 4);
}

TEST(GpuGemm, GpuAboveItsLimitEndsItsTestAtOnceAndTheOthersGoOn) {
  const std::string hot = With(R"("busy":{"temperature":91},"max_temperature":89)");
  const std::string cool = With(R"("max_temperature":89)");
  const WorkerRun run = RunWorker(absl::StrCat(hot, ",", cool), Gemm("fp32", "4s"));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  ASSERT_EQ(run.result["faults"].size(), 1) << run.result["faults"];
  const nlohmann::json fault = run.Faults("too_hot").at(0);
  EXPECT_EQ(fault["subject"], UuidOf(0));
  EXPECT_THAT(fault["message"].get<std::string>(),
              AllOf(HasSubstr("had 91 °C after"),
                    HasSubstr("limit of 89 °C (the driver's highest operating temperature)")));
  double last_of_hot = 0, last_of_cool = 0;
  int points = 0;
  for (const auto& sample : run.result["samples"]) {
    if (sample["metric"] == "temperature_celsius" && sample["value"] == 91) ++points;
    if (sample["metric"] != "tflops") continue;
    double& last = sample["subject"] == UuidOf(0) ? last_of_hot : last_of_cool;
    last = std::max(last, sample["at_s"].get<double>());
  }
  EXPECT_GE(points, 1);
  EXPECT_GT(last_of_cool, last_of_hot + 1);
  EXPECT_GT(run.Metric("products", "fp32", UuidOf(1)),
            3 * run.Metric("products", "fp32", UuidOf(0)));
}

TEST(GpuGemm, LimitThatIsGivenTakesThePlaceOfTheDrivers) {
  std::vector<std::string> arguments = Gemm("fp32", "60s");
  arguments.insert(arguments.end(), {"--max-temperature", "60"});
  const absl::Time start = absl::Now();
  const WorkerRun run = RunWorker(With(R"("max_temperature":89)"), arguments);
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  ASSERT_EQ(run.Faults("too_hot").size(), 1) << run.result["faults"];
  EXPECT_THAT(run.Faults("too_hot")[0]["message"].get<std::string>(),
              HasSubstr("limit of 60 °C (parameter max-temperature)"));
  arguments = Gemm("fp32", "1s");
  arguments.insert(arguments.end(), {"--max-temperature", "95"});
  const std::string hot = With(R"("busy":{"temperature":91},"max_temperature":89)");
  EXPECT_EQ(RunWorker(hot, arguments).outcome(), "OUTCOME_PASS");
}

// Like after a test that was ended because of heat.
TEST(GpuGemm, HotGpusCoolBeforeTheyAreLoaded) {
  const auto world = [](int celsius) {
    const std::string rest = absl::StrCat(R"({"temperature":)", celsius, "}");
    return absl::StrCat(R"({"gpus":[)", kGood, ",", With(absl::StrCat(R"("idle":)", rest)), "]}");
  };
  testing::NvidiaFile file(world(84));
  setenv("LD_LIBRARY_PATH", FAKE_NVIDIA, 1);
  testing::WorkerProcess worker({MUSTER_BURNIN, "gpu-gemm", "--json", "--engine", "own", "--size",
                                 "128", "--types", "fp32", "--duration", "1s"});
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_TRUE(worker.AwaitPhase(absl::StrCat("cooling: ", UuidOf(1), " 84 °C, waiting for 60 °C")));
  file.Write(world(55));
  const auto result = worker.Result();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)["outcome"], "OUTCOME_PASS") << *result;
  EXPECT_GE((*result)["seconds"].get<double>(), 2);
}

TEST(GpuGemm, SlowdownForHeatEndsTheTestAtOnce) {
  const absl::Time start = absl::Now();
  const WorkerRun run =
      RunWorker(With(R"("busy":{"temperature":94,"clock_reasons":64})"), Gemm("fp32", "60s"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  EXPECT_EQ(run.Faults("thermal_throttle").size(), 1);
}

TEST(GpuGemm, GpuThatFallsOffTheBusIsAtFault) {
  const WorkerRun run =
      RunWorker(absl::StrCat(kGood, ",", With(R"("lost_after_s":1)")), Gemm("fp32", "4s"));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  ASSERT_EQ(run.Faults("gpu_lost").size(), 1) << run.result["faults"];
  EXPECT_EQ(run.Faults("gpu_lost")[0]["subject"], UuidOf(1));
  EXPECT_THAT(run.Faults("gpu_lost")[0]["message"].get<std::string>(), HasSubstr(SlotOf(1)));
  // The other one runs to its end.
  EXPECT_GT(run.Metric("products", "fp32", UuidOf(0)), 0);
}

// A worker that waits for the driver for ever is killed from outside.
TEST(GpuGemm, HangingGpuCanBeKilled) {
  const absl::Time start = absl::Now();
  const WorkerRun run =
      RunWorker(With(R"("hang":["cuLaunchKernel"])"), Gemm("fp32"), absl::Seconds(5));
  EXPECT_TRUE(run.timed_out);
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  // It had begun, and reported no end: the agent turns that into a fail.
  EXPECT_TRUE(run.result.empty()) << run.result;
  agent::WorkerOutput output("gpu-gemm");
  for (const std::string& line : run.lines) EXPECT_OK(output.Take(line));
  EXPECT_THAT(run.lines, Contains(HasSubstr(R"("phase":"fp32")")));
  const v1::CheckResult result = output.Conclude(
      {.signal = run.signal, .timed_out = run.timed_out, .time_limit = absl::Seconds(5)});
  EXPECT_EQ(result.outcome(), v1::OUTCOME_FAIL);
  ASSERT_EQ(result.faults_size(), 1);
  EXPECT_EQ(result.faults(0).code(), "driver_hangs");
}

TEST(GpuGemm, BusyGpuIsUnknownUnlessForced) {
  const std::string busy = With(R"("processes":[{"pid":1,"memory_bytes":1048576}])");
  const WorkerRun refused = RunWorker(busy, Gemm("fp32", "200ms"));
  EXPECT_EQ(refused.outcome(), "OUTCOME_UNKNOWN");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.reason(), Said());
  std::vector<std::string> forced = Gemm("fp32", "200ms");
  forced.push_back("--force");
  EXPECT_EQ(RunWorker(busy, forced).outcome(), "OUTCOME_PASS");
}

TEST(GpuGemm, TypeThatTheGpuLacksIsUnknownWhenItWasAskedFor) {
  const WorkerRun run = RunWorker(kGood, Gemm("fp32,bf16", "200ms"));
  EXPECT_EQ(run.outcome(), "OUTCOME_UNKNOWN");
  EXPECT_THAT(run.reason(), Said());
  EXPECT_GT(run.Metric("products", "fp32", UuidOf(0)), 0);
}

TEST(GpuGemm, EveryGenerationMultipliesWhatItCan) {
  const WorkerRun run = RunWorker(
      R"({"preset":"gtx_1080_ti","backing_bytes":4194304},
         {"preset":"v100","backing_bytes":4194304},{"preset":"h100","backing_bytes":4194304})",
      {"gpu-gemm", "--engine", "own", "--size", "128", "--duration", "2s"});
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  EXPECT_GT(run.Metric("products", "int8", UuidOf(0)), 0);
  EXPECT_TRUE(std::isnan(run.Metric("products", "fp16", UuidOf(0))));
  EXPECT_GT(run.Metric("products", "fp16", UuidOf(1)), 0);
  for (const char* type : {"fp32", "fp64", "fp16", "bf16", "tf32", "fp8", "int8"})
    EXPECT_GT(run.Metric("products", type, UuidOf(2)), 0) << type;
  // Each type that was left out is named, with the reason.
  EXPECT_THAT(NotMeasured(run, 0), AllOf(HasSubstr("fp16: "), HasSubstr("bf16: "),
                                         HasSubstr("tf32: "), HasSubstr("fp8: ")));
  EXPECT_THAT(NotMeasured(run, 1), AllOf(HasSubstr("bf16: "), Not(HasSubstr("fp16: "))));
  EXPECT_EQ(NotMeasured(run, 2), "");
}

// Before CUDA 12 a driver has neither the instructions nor the copy engine of Hopper: Ampere's
// kernels multiply, and FP8, which the one for Ada would turn into FP16 there, is left out.
TEST(GpuGemm, HopperWithAnOldDriverIsTestedByAmperesKernels) {
  const WorkerRun run =
      RunWorker(FakeDriver{.cuda_version = 11080}, R"({"preset":"h100","backing_bytes":4194304})",
                {"gpu-gemm", "--engine", "own", "--size", "128", "--duration", "1s"});
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  EXPECT_THAT(run.result["tools"], Contains("own kernel gemm_bf16_sm80"));
  EXPECT_EQ(NotMeasured(run, 0), "fp8: fp8 needs a driver for CUDA 12.0; this one supports 11.8");
}

// As on Debian 12, whose driver is for CUDA 12.2.
TEST(GpuGemm, TypeThatTheDriverIsTooOldForIsNamed) {
  const WorkerRun run =
      RunWorker(FakeDriver{.cuda_version = 12020}, R"({"preset":"l40s","backing_bytes":4194304})",
                {"gpu-gemm", "--engine", "own", "--size", "128", "--duration", "1s"});
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  EXPECT_EQ(NotMeasured(run, 0), "fp8: fp8 needs a driver for CUDA 12.4; this one supports 12.2");
}

std::string WithA100(const std::string& more) {
  return absl::StrCat(R"({"preset":"a100","backing_bytes":4194304,)", more, "}");
}

TEST(GpuGemm, ErrorsThatTheGpuCountsMeanwhileFailTheCheck) {
  const WorkerRun run =
      RunWorker(absl::StrCat(R"({"preset":"a100","backing_bytes":4194304},)",
                             WithA100(R"("ecc_corrected":7,"new_errors":{"ecc_corrected":2})")),
                Gemm("fp32", "500ms"));
  EXPECT_EQ(run.outcome(), "OUTCOME_FAIL");
  const auto faults = run.Faults("errors_under_load");
  ASSERT_EQ(faults.size(), 1) << run.result["faults"];
  EXPECT_EQ(faults[0]["subject"], UuidOf(1));
  EXPECT_EQ(run.Metric("new_errors", "ecc_corrected", UuidOf(1)), 2);
  EXPECT_EQ(run.Metric("new_errors", "ecc_corrected", UuidOf(0)), 0);
}

// None of them is a reason to replace the GPU.
TEST(GpuGemm, StateOfTheSoftwareIsUnknownAndMemoryItsOwnFault) {
  const WorkerRun exclusive =
      RunWorker(WithA100(R"("compute_mode":3,"processes":[{"pid":1,"memory_bytes":1}])"),
                {"gpu-gemm", "--engine", "own", "--size", "128", "--force"});
  EXPECT_EQ(exclusive.outcome(), "OUTCOME_UNKNOWN");
  EXPECT_THAT(exclusive.reason(), AllOf(Said(), HasSubstr("nvidia-smi -c DEFAULT")));
  const WorkerRun compiler = RunWorker(WithA100(R"("context_error":221)"), Gemm("fp32", "200ms"));
  EXPECT_EQ(compiler.outcome(), "OUTCOME_UNKNOWN");
  EXPECT_THAT(compiler.reason(), HasSubstr("libnvidia-ptxjitcompiler1"));
  const WorkerRun memory = RunWorker(WithA100(R"("launch_error":214)"), Gemm("fp32", "200ms"));
  EXPECT_EQ(memory.outcome(), "OUTCOME_FAIL");
  ASSERT_EQ(memory.result["faults"].size(), 1) << memory.result["faults"];
  EXPECT_EQ(memory.Faults("ecc_uncorrected")[0]["subject"], UuidOf(0));
}

std::set<std::string> Tools(const WorkerRun& run) {
  std::set<std::string> tools;
  for (const auto& tool : run.result["tools"]) tools.insert(tool.get<std::string>());
  return tools;
}

const std::vector<std::string> kAuto = {"gpu-gemm",  "--size",     "128",  "--types",
                                        "fp32,int8", "--duration", "300ms"};

// A cuBLAS that is too new for the driver does not start; the one beside it does.
TEST(GpuGemm, CublasThatSuitsTheDriverIsTaken) {
  const WorkerRun run = RunWorker(FakeDriver{.cublas = R"({"13":{"create":1}})"}, kGood, kAuto);
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  EXPECT_THAT(Tools(run), ElementsAre("cublas 12.4.5"));
}

// The second type is measured, and the first by Muster's own kernel.
TEST(GpuGemm, CublasThatRefusesOneTypeLeavesTheOthersTheirTest) {
  const WorkerRun run = RunWorker(FakeDriver{.cublas = R"({"13":{"refuses":[0]}})"}, kGood, kAuto);
  EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
  EXPECT_THAT(Tools(run), ElementsAre("cublas 13.4.5", "own kernel gemm_f32"));
  EXPECT_GT(run.Metric("products", "fp32", UuidOf(0)), 0);
  EXPECT_GT(run.Metric("products", "int8", UuidOf(0)), 0);
  std::vector<std::string> only = kAuto;
  only.insert(only.end(), {"--engine", "cublas"});
  const WorkerRun told = RunWorker(FakeDriver{.cublas = R"({"13":{"refuses":[0]}})"}, kGood, only);
  EXPECT_EQ(told.outcome(), "OUTCOME_UNKNOWN");
  EXPECT_THAT(NotMeasured(told, 0), HasSubstr("fp32: "));
  EXPECT_GT(told.Metric("products", "int8", UuidOf(0)), 0);
}

// FP8 is cublasLt's. By the version that suits the driver; the own kernel where it refuses.
TEST(GpuGemm, LibraryMultipliesFp8WhereItCan) {
  const std::string gpu = R"({"preset":"h100","backing_bytes":67108864})";
  const std::vector<std::string> arguments = {"gpu-gemm", "--size",     "128",  "--types",
                                              "fp8,int8", "--duration", "300ms"};
  const auto tools_with = [&](const std::string& cublas) {
    const WorkerRun run =
        RunWorker(FakeDriver{.cuda_version = 12020, .cublas = cublas}, gpu, arguments);
    EXPECT_EQ(run.outcome(), "OUTCOME_PASS") << run.reason();
    EXPECT_GT(run.Metric("products", "fp8", UuidOf(0)), 0);
    return Tools(run);
  };
  EXPECT_THAT(tools_with("{}"), ElementsAre("cublas 13.4.5", "cublasLt 13.4.5"));
  EXPECT_THAT(tools_with(R"({"13":{"create":1}})"),
              ElementsAre("cublas 12.4.5", "cublasLt 12.4.5"));
  EXPECT_THAT(tools_with(R"({"13":{"refuses":[28]},"12":{"refuses":[28]}})"),
              ElementsAre("cublas 13.4.5", "own kernel gemm_e4m3_sm90a"));
}

// cuBLAS is missing, or does not suit the fake driver: neither is the fault of the GPU, and by
// default our own kernels replace it.
TEST(GpuGemm, CublasThatCannotBeUsedIsNoFault) {
  std::vector<std::string> arguments = {"gpu-gemm", "--size",     "128",   "--types",
                                        "fp32",     "--duration", "200ms", "--engine"};
  arguments.push_back("cublas");
  const WorkerRun only = RunWorker(kGood, arguments);
  EXPECT_EQ(only.outcome(), "OUTCOME_UNKNOWN") << only.reason();
  arguments.back() = "auto";
  const WorkerRun any = RunWorker(kGood, arguments);
  EXPECT_EQ(any.outcome(), "OUTCOME_PASS") << any.reason();
  EXPECT_EQ(any.result["tools"][0], "own kernel gemm_f32");
}

}  // namespace
}  // namespace muster::burnin
