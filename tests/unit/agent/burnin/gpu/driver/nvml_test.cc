#include "agent/burnin/gpu/driver/nvml.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;

struct FromTheFuture {
  static constexpr char kName[] = "nvmlFromTheFuture";
  using Entry = int (*)();
};

NvmlDevice First(const Nvml& nvml) { return NvmlDevice(nvml, nvml.DeviceAt(0).value()); }

TEST(Nvml, TellsWhatAGpuIs) {
  const NvidiaFile file(R"({"gpus":[{"preset":"a100"}]})");
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_OK(nvml.status());
  EXPECT_EQ((*nvml)->DriverVersion().value(), "535.261.03");
  EXPECT_EQ((*nvml)->DeviceCount().value(), 1u);
  const NvmlDevice gpu = First(**nvml);
  EXPECT_EQ(gpu.Name().value(), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpu.PciAddress().value(), "0000:3b:00.0");
  EXPECT_EQ(gpu.MemoryBytes()->total, 81920ull << 20);
  EXPECT_EQ(gpu.PowerLimitWatts().value(), 400);
  EXPECT_TRUE(gpu.Ecc()->current);
  EXPECT_TRUE(gpu.LinkUp(11).value());
  EXPECT_FALSE(gpu.LinkUp(12).ok());
}

TEST(Nvml, WhatAConsumerGpuDoesNotTellIsUnimplementedAndNotZero) {
  const NvidiaFile file(R"({"gpus":[{"preset":"gtx_1080_ti"}]})");
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_OK(nvml.status());
  const NvmlDevice gpu = First(**nvml);
  EXPECT_THAT(gpu.Serial(), StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(gpu.Ecc(), StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(gpu.EccErrors(nvml::kUncorrected, nvml::kAggregateEcc),
              StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(gpu.Remapped(), StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(gpu.LinkUp(0), StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(gpu.Fabric(), StatusIs(absl::StatusCode::kUnimplemented, _));
}

TEST(Nvml, FunctionThatTheLibraryLacksIsUnimplemented) {
  const NvidiaFile file(R"({"gpus":[{"idle":{"clock_reasons":64},"busy":{"clock_reasons":64}}]})");
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_OK(nvml.status());
  EXPECT_THAT((*nvml)->Call<FromTheFuture>(), StatusIs(absl::StatusCode::kUnimplemented, Said()));
  // The fake has only the name from before driver 535.
  EXPECT_EQ(First(**nvml).ClockReasons().value(), nvml::kReasonHardwareThermal);
}

TEST(Nvml, RetiredPagesAreCounted) {
  const NvidiaFile file(R"({"gpus":[{"preset":"v100","retired_single":3,"retired_double":2}]})");
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_OK(nvml.status());
  EXPECT_EQ(First(**nvml).RetiredPages(nvml::kMultipleSingleBit).value(), 3u);
  EXPECT_EQ(First(**nvml).RetiredPages(nvml::kDoubleBit).value(), 2u);
}

TEST(Nvml, FabricIsToldByOlderDriversToo) {
  const NvidiaFile file(R"({"gpus":[{"preset":"h100","fabric_state":3,"fabric_status":999,
      "fabric_health":1},{"preset":"h100","fabric_state":2,"answers":{"nvmlDeviceGetGpuFabricInfoV":13}}]})");
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_OK(nvml.status());
  const auto info = First(**nvml).Fabric();
  ASSERT_OK(info.status());
  EXPECT_EQ(info->state, nvml::kFabricCompleted);
  EXPECT_EQ(info->status, 999);
  EXPECT_EQ(info->health_mask, 1u);
  const auto older = NvmlDevice(**nvml, (*nvml)->DeviceAt(1).value()).Fabric();
  ASSERT_OK(older.status());
  EXPECT_EQ(older->state, nvml::kFabricInProgress);
  EXPECT_EQ(older->health_mask, 0u);
}

TEST(Nvml, TemperaturesThatOnlySomeModelsHave) {
  const NvidiaFile file(R"({"gpus":[{"preset":"h100","least_margin":-2,
      "idle":{"memory_temperature":48,"margin":50},"busy":{"memory_temperature":48,"margin":50}},{}]})");
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_OK(nvml.status());
  EXPECT_EQ(First(**nvml).MemoryTemperatureCelsius().value(), 48);
  EXPECT_EQ(First(**nvml).MarginCelsius().value(), 50);
  EXPECT_EQ(First(**nvml).LeastMarginCelsius().value(), -2);
  const NvmlDevice other(**nvml, (*nvml)->DeviceAt(1).value());
  EXPECT_THAT(other.MemoryTemperatureCelsius(), StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(other.MarginCelsius(), StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(other.LeastMarginCelsius(), StatusIs(absl::StatusCode::kUnimplemented, _));
}

TEST(Nvml, LostGpuIsDataLoss) {
  const NvidiaFile file(R"({"gpus":[{"preset":"a100","lost_after_s":0}]})");
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_OK(nvml.status());
  EXPECT_THAT((*nvml)->DeviceAt(0), StatusIs(absl::StatusCode::kDataLoss, Said()));
}

TEST(Nvml, DriverThatIsNotLoadedIsSaidSo) {
  const NvidiaFile file(R"({"nvml_init":9})");
  EXPECT_THAT(Nvml::Load(FAKE_NVML).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST(Nvml, NoLibraryIsNotFound) {
  EXPECT_THAT(Nvml::Load("libno-such-nvml.so.1").status(),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::burnin
