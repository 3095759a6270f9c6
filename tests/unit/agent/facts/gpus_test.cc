#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/facts/probe.h"
#include "muster/v1/facts.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

ProbeContext WithFake(const std::string& root) {
  ProbeContext context;
  context.root = root;
  context.nvml_library = FAKE_NVML;
  return context;
}

std::string RootWithNvidiaDevice() {
  const std::string root = ::testing::TempDir() + "/nvidia-root";
  const std::string device = root + "/sys/bus/pci/devices/0000:3b:00.0";
  std::filesystem::create_directories(device);
  std::ofstream(device + "/vendor") << "0x10de\n";
  std::ofstream(device + "/device") << "0x1e07\n";
  std::ofstream(device + "/class") << "0x030000\n";
  return root;
}

TEST(Gpus, AreReadThroughNvml) {
  const muster::testing::NvidiaFile file(R"({"gpus":[{"preset":"rtx_2080_ti","count":2}]})");
  v1::Facts facts;
  ASSERT_OK(ProbeGpus(WithFake("/nonexistent"), facts));
  EXPECT_EQ(facts.nvidia_driver_version(), "535.261.03");
  ASSERT_EQ(facts.gpus_size(), 2);
  const v1::GpuFacts& gpu = facts.gpus(1);
  EXPECT_EQ(gpu.index(), 1u);
  EXPECT_EQ(gpu.slurm_type(), "rtx_2080_ti");
  EXPECT_EQ(gpu.memory_mib(), 11264u);
  EXPECT_EQ(gpu.power_limit_watts(), 250);
  EXPECT_EQ(gpu.pci_address(), "0000:3c:00.0");
  EXPECT_EQ(gpu.device_path(), "/dev/nvidia1");
  EXPECT_EQ(gpu.serial(), "");  // a consumer GPU does not report one
}

TEST(Gpus, DriverThatIsNotLoadedIsUnknownWithNvmlsReason) {
  const muster::testing::NvidiaFile file(R"({"nvml_init":9})");
  v1::Facts facts;
  EXPECT_THAT(ProbeGpus(WithFake("/nonexistent"), facts),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

// The node would become one without GPUs.
TEST(Gpus, OneThatIsLostDoesNotCostTheOthers) {
  const muster::testing::NvidiaFile file(R"({"gpus":[{"preset":"rtx_2080_ti"},
      {"preset":"rtx_2080_ti","lost_after_s":0},{"preset":"rtx_2080_ti"}]})");
  v1::Facts facts;
  ASSERT_OK(ProbeGpus(WithFake("/nonexistent"), facts));
  EXPECT_EQ(facts.nvidia_driver_version(), "535.261.03");
  ASSERT_EQ(facts.gpus_size(), 2);
  EXPECT_EQ(facts.gpus(0).index(), 0u);
  EXPECT_EQ(facts.gpus(1).index(), 2u);
  EXPECT_EQ(facts.gpus(1).device_path(), "/dev/nvidia2");
  ASSERT_EQ(facts.unknown_size(), 1);
  EXPECT_EQ(facts.unknown(0).probe(), "gpu-1");
  EXPECT_EQ(facts.unknown(0).reason(), "nvmlDeviceGetHandleByIndex_v2: GPU is lost");
}

TEST(Gpus, WithoutAnAnswerOfAnyTheyAreUnknown) {
  const muster::testing::NvidiaFile file(
      R"({"gpus":[{"preset":"rtx_2080_ti","count":2,"lost_after_s":0}]})");
  v1::Facts facts;
  EXPECT_THAT(ProbeGpus(WithFake("/nonexistent"), facts),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST(Gpus, NoLibraryAndNoDeviceMeansNone) {
  ProbeContext context;
  context.root = "/nonexistent";
  context.nvml_library = "libno-such-nvml.so.1";
  v1::Facts facts;
  EXPECT_OK(ProbeGpus(context, facts));
  EXPECT_EQ(facts.gpus_size(), 0);
}

TEST(Gpus, NoLibraryButADeviceIsUnknown) {
  ProbeContext context;
  context.root = RootWithNvidiaDevice();
  context.nvml_library = "libno-such-nvml.so.1";
  v1::Facts facts;
  EXPECT_THAT(ProbeGpus(context, facts), StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::agent
