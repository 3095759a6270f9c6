#include "agent/burnin/gpu/kernels/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/fakes/nvidia/host_kernel.h"

namespace muster::burnin {
namespace {

using kernels::Element;

TEST(PtxModulesTest, AreWhatTheTableSays) {
  for (const PtxModule& module : PtxModules()) {
    SCOPED_TRACE(module.name);
    const absl::string_view text = module.text;
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("\n.version ", module.ptx_version / 10, ".",
                                                     module.ptx_version % 10, "\n")));
    EXPECT_TRUE(absl::StrContains(
        text, absl::StrCat("\n.target sm_", module.capability, module.exact ? "a" : "", "\n")));
    EXPECT_GE(module.min_driver(), 9000);
    // Nothing that a linker would have to find, but for the shared memory of the launch, nor
    // registers spilled to memory.
    EXPECT_FALSE(
        absl::StrContains(absl::StrReplaceAll(text, {{".extern .shared", ""}}), ".extern"));
    EXPECT_FALSE(absl::StrContains(text, ".local"));
  }
}

// With more than 128 registers a thread, which the assembler took for 7.0, only one block fits.
TEST(PtxModulesTest, ThreadsWithoutTensorCoresLeaveRoomForASecondBlock) {
  for (const char* module : {"gemm_fma", "gemm_dp4a"})
    EXPECT_TRUE(absl::StrContains(FindPtxModule(module).text, ".minnctapersm 2")) << module;
}

TEST(PtxModulesTest, HoldTheKernelsThatTheHostHas) {
  for (const GemmKernel& kernel : GemmKernels()) {
    SCOPED_TRACE(kernel.name);
    EXPECT_TRUE(absl::StrContains(FindPtxModule(kernel.module).text,
                                  absl::StrCat(".entry ", kernel.name, "(")));
    EXPECT_NE(fake_nvidia::FindHostKernel(std::string(kernel.name).c_str()), nullptr);
    EXPECT_EQ(kGemmGranule % kernel.rows, 0);
    // The last tile of a row may stand out only where the kernel knows that.
    if (kernel.shared_bytes == 0) {
      EXPECT_EQ(kGemmGranule % kernel.columns, 0);
    }
  }
}

struct Choice {
  Element type;
  int capability;
  int driver;
  const char* kernel;  // or a part of the error
};

TEST(ChooseGemmKernelTest, TakesTheBestThatGpuAndDriverKnow) {
  const Choice choices[] = {
      {Element::kF16, 60, 12040, "fp16 needs compute capability 7.0; this GPU has 6.0"},
      {Element::kF16, 70, 12040, "gemm_f16_sm70"},
      {Element::kF16, 75, 12040, "gemm_f16_sm75"},
      {Element::kF16, 86, 12040, "gemm_f16_sm80"},
      {Element::kF16, 90, 12040, "gemm_f16_sm90a"},
      {Element::kF16, 90, 11080, "gemm_f16_sm80"},
      {Element::kF16, 100, 12080, "gemm_f16_sm80"},
      {Element::kBf16, 90, 12000, "gemm_bf16_sm90a"},
      {Element::kTf32, 90, 12000, "gemm_tf32_sm90a"},
      {Element::kS8, 90, 12000, "gemm_s8_sm90a"},
      {Element::kF16, 90, 10020, "gemm_f16_sm75"},
      {Element::kF16, 75, 10000, "fp16 needs a driver for CUDA 10.1; this one supports 10.0"},
      {Element::kS8, 60, 12040, "int8 needs compute capability 6.1"},
      {Element::kS8, 61, 9000, "gemm_s8_dp4a"},
      {Element::kS8, 70, 12040, "gemm_s8_dp4a"},
      {Element::kS8, 75, 12040, "gemm_s8_sm75"},
      {Element::kE4m3, 89, 12040, "gemm_e4m3_sm89"},
      {Element::kE4m3, 89, 12030, "fp8 needs a driver for CUDA 12.4; this one supports 12.3"},
      {Element::kE4m3, 80, 12040, "fp8 needs compute capability 8.9"},
      {Element::kE4m3, 90, 12000, "gemm_e4m3_sm90a"},
      {Element::kE4m3, 90, 13000, "gemm_e4m3_sm90a"},
      // The kernel for 8.9 would run there, on the FP16 units.
      {Element::kE4m3, 90, 11080, "fp8 needs a driver for CUDA 12.0; this one supports 11.8"},
      {Element::kE4m3, 120, 12080, "gemm_e4m3_sm89"},
      {Element::kF64, 60, 9000, "gemm_f64"},
  };
  for (const Choice& choice : choices) {
    SCOPED_TRACE(absl::StrCat(choice.capability, " ", choice.driver, " ", choice.kernel));
    const auto kernel = ChooseGemmKernel(choice.type, choice.capability, choice.driver);
    if (kernel.ok())
      EXPECT_EQ((*kernel)->name, choice.kernel);
    else
      EXPECT_THAT(std::string(kernel.status().message()), ::testing::HasSubstr(choice.kernel));
  }
}

// Its registers spill from 8.0 on (tools/check_gpu_abi.py), whose first driver is for CUDA 11.0.
TEST(ChooseGemmKernelTest, NeverTakesVoltasKernelForLaterGpus) {
  for (const int capability : {80, 86, 87, 89, 90, 100, 103, 120})
    for (const int driver : {11000, 11080, 12020, 12040, 13000})
      EXPECT_NE(ChooseGemmKernel(Element::kF16, capability, driver).value()->name, "gemm_f16_sm70")
          << capability << " " << driver;
}

TEST(ElementNameTest, GoesThereAndBack) {
  for (const GemmKernel& kernel : GemmKernels())
    EXPECT_EQ(ElementByName(ElementName(kernel.type)).value(), kernel.type);
  EXPECT_FALSE(ElementByName("fp12").ok());
}

}  // namespace
}  // namespace muster::burnin
