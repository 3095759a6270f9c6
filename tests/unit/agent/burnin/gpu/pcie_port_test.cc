// GPUs in slots with fewer lanes than their cards have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/gpu/inventory/judge.h"
#include "agent/burnin/gpu/inventory/reading.h"
#include "agent/burnin/gpu/metrics/metrics_text.h"
#include "agent/burnin/gpu/pci_slots.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

constexpr char kEightLanes[] =
    R"({"gpus":[{"preset":"rtx_2080_ti","pci_address":"0000:3b:00.0","max_pcie_width":16,
                 "idle":{"pcie_width":8},"busy":{"pcie_width":8}}]})";

muster::testing::FakeFileSystem FilesWithPort(const char* width, const char* speed) {
  muster::testing::FakeFileSystem files;
  files.AddFile("/sys/bus/pci/devices/0000:3b:00.0/../max_link_width", width);
  files.AddFile("/sys/bus/pci/devices/0000:3b:00.0/../max_link_speed", speed);
  return files;
}

std::vector<Fault> FaultsWith(muster::testing::FakeFileSystem files) {
  const NvidiaFile file(kEightLanes);
  const auto nvml = Nvml::Load(FAKE_NVML).value();
  const Gpu gpu = {.index = 0,
                   .uuid = "GPU-0",
                   .pci_address = "0000:3b:00.0",
                   .nvml = NvmlDevice(*nvml, nvml->DeviceAt(0).value())};
  GpuReading reading = ReadGpu(gpu, [](const std::string&, const std::function<void()>& read) {
    read();
    return absl::OkStatus();
  });
  // The link of a card at rest falls back to the first one.
  reading.pcie_generation = reading.max_pcie_generation;
  LimitByPort(ReadPortAbove(files, PciFolder(gpu.pci_address)), reading);
  CheckResult result;
  result.subjects.push_back({.id = "GPU-0", .kind = "gpu"});
  JudgeGpu(gpu, reading, {}, result);
  return result.faults;
}

TEST(PciePort, ASlotOfEightLanesIsNoFaultOfACardOfSixteen) {
  EXPECT_THAT(FaultsWith(FilesWithPort("8\n", "16.0 GT/s PCIe\n")), IsEmpty());
}

TEST(PciePort, EightLanesInASlotOfSixteenAreAFault) {
  const std::vector<Fault> faults = FaultsWith(FilesWithPort("16\n", "16.0 GT/s PCIe\n"));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].code, "pcie_degraded");
  EXPECT_THAT(faults[0].message, Said());
}

// In a virtual machine there may be no port above the card.
TEST(PciePort, WithoutAPortTheDriversWordCounts) {
  EXPECT_EQ(FaultsWith({}).size(), 1u);
  EXPECT_EQ(FaultsWith(FilesWithPort("255\n", "Unknown\n")).size(), 1u);
}

TEST(PciePort, TheGenerationIsThatOfThePortToo) {
  GpuReading reading;
  reading.max_pcie_generation = 5;
  reading.max_pcie_width = 16;
  LimitByPort(PcieLink{8, 16}, reading);
  EXPECT_EQ(*reading.max_pcie_generation, 3u);
  EXPECT_EQ(*reading.max_pcie_width, 16u);
  LimitByPort(PcieLink{32, 8}, reading);
  EXPECT_EQ(*reading.max_pcie_generation, 3u);
  EXPECT_EQ(*reading.max_pcie_width, 8u);
  EXPECT_EQ(PcieGenerationOf(64), 6u);
  EXPECT_EQ(PcieGenerationOf(7), 0u);
}

TEST(PciePort, MetricsSayWhatCardAndSlotHaveTogether) {
  const auto lanes = [](muster::testing::FakeFileSystem files) {
    const NvidiaFile file(kEightLanes);
    std::vector<std::string> found;
    for (const absl::string_view line :
         absl::StrSplit(MetricsText(SampleGpus(files, FAKE_NVML), {}), '\n'))
      if (absl::StartsWith(line, "muster_gpu_pcie_max_width{")) found.emplace_back(line);
    return found;
  };
  EXPECT_THAT(lanes(FilesWithPort("8\n", "16.0 GT/s PCIe\n")), ElementsAre(EndsWith("} 8")));
  EXPECT_THAT(lanes({}), ElementsAre(EndsWith("} 16")));
}

}  // namespace
}  // namespace muster::burnin
