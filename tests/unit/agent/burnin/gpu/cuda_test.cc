#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/driver/cuda_context.h"
#include "agent/burnin/gpu/driver/cuda_driver.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

constexpr char kPtx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing()";

struct CudaGpu {
  std::unique_ptr<CudaDriver> driver;
  std::unique_ptr<CudaContext> context;
};

CudaGpu Open() {
  CudaGpu gpu;
  gpu.driver = CudaDriver::Load(FAKE_CUDA).value();
  gpu.context =
      CudaContext::Create(*gpu.driver, gpu.driver->DeviceByPciAddress("0000:3b:00.0").value())
          .value();
  return gpu;
}

// Writes a block of ones, reads it back and counts the bits that differ.
int FlippedBits(const CudaContext& context, const DeviceMemory& memory, size_t bytes) {
  std::vector<unsigned char> read(bytes);
  EXPECT_OK(context.CopyToHost(read.data(), memory.get(), bytes, nullptr));
  int flipped = 0;
  for (const unsigned char byte : read) flipped += __builtin_popcount(byte ^ 0xffu);
  return flipped;
}

TEST(Cuda, TellsDevicesAndTheirAttributes) {
  const NvidiaFile file(R"({"cuda_version":12040,"gpus":[{"preset":"rtx_2080_ti"}]})");
  const auto driver = CudaDriver::Load(FAKE_CUDA);
  ASSERT_OK(driver.status());
  EXPECT_EQ((*driver)->version(), 12040);
  EXPECT_EQ((*driver)->DeviceCount().value(), 1);
  EXPECT_EQ((*driver)->ComputeCapability(0).value(), 75);
  EXPECT_EQ((*driver)->Attribute(0, cuda::kMultiprocessorCount).value(), 68);
  EXPECT_THAT((*driver)->DeviceByPciAddress("0000:99:00.0"),
              StatusIs(absl::StatusCode::kNotFound, _));
}

TEST(Cuda, NoDeviceIsNotFound) {
  const NvidiaFile file(R"({"cuda_init":100})");
  EXPECT_THAT(CudaDriver::Load(FAKE_CUDA).status(), StatusIs(absl::StatusCode::kNotFound, Said()));
}

// A state of the node's software is no fault of the GPU, and its message says what to do.
TEST(Cuda, StatesOfTheSoftwareArePreconditionsWithTheirRemedy) {
  for (const int code : {34, 46, 102, 221, 223, 711, 802, 803, 804, 805, 806, 807, 808, 809, 810}) {
    SCOPED_TRACE(code);
    const NvidiaFile file(absl::StrCat(R"({"gpus":[{"context_error":)", code, "}]}"));
    const auto driver = CudaDriver::Load(FAKE_CUDA).value();
    const absl::Status status = CudaContext::Create(*driver, 0).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, _));
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(" ", code, "): ")));
  }
}

TEST(Cuda, MemoryErrorIsDataLoss) {
  const NvidiaFile file(R"({"gpus":[{"context_error":214}]})");
  const auto driver = CudaDriver::Load(FAKE_CUDA).value();
  EXPECT_THAT(CudaContext::Create(*driver, 0).status(), StatusIs(absl::StatusCode::kDataLoss, _));
}

TEST(Cuda, CopiesThereAndBack) {
  const NvidiaFile file(R"({"gpus":[{}]})");
  const CudaGpu gpu = Open();
  auto memory = gpu.context->Allocate(4096);
  ASSERT_OK(memory.status());
  auto host = gpu.context->AllocateHost(4096);
  ASSERT_OK(host.status());
  std::memset(host->get(), 0xff, 4096);
  ASSERT_OK(gpu.context->CopyToDevice(memory->get(), host->get(), 4096, nullptr));
  EXPECT_EQ(FlippedBits(*gpu.context, *memory, 4096), 0);
  EXPECT_THAT(gpu.context->CopyToHost(host->get(), memory->get() + 1, 4096, nullptr),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST(Cuda, MemoryIsGivenBackAndBounded) {
  const NvidiaFile file(R"({"gpus":[{"backing_bytes":65536}]})");
  const CudaGpu gpu = Open();
  {
    const auto all = gpu.context->Allocate(65536);
    ASSERT_OK(all.status());
    EXPECT_EQ(gpu.context->Memory()->free, 0u);
    EXPECT_THAT(gpu.context->Allocate(1).status(),
                StatusIs(absl::StatusCode::kResourceExhausted, _));
  }
  EXPECT_EQ(gpu.context->Memory()->free, 65536u);
}

TEST(Cuda, EventsTellHowLongACopyTook) {
  const NvidiaFile file(R"({"gpus":[{"copy_gbytes_per_s":0.1}]})");
  const CudaGpu gpu = Open();
  const auto memory = gpu.context->Allocate(1 << 20);
  std::vector<char> host(1 << 20);
  const auto from = gpu.context->CreateEvent(), to = gpu.context->CreateEvent();
  ASSERT_OK(gpu.context->Record(*from, nullptr));
  ASSERT_OK(gpu.context->CopyToDevice(memory->get(), host.data(), host.size(), nullptr));
  ASSERT_OK(gpu.context->Record(*to, nullptr));
  EXPECT_GE(gpu.context->Elapsed(*from, *to).value(), absl::Milliseconds(10));
}

TEST(Cuda, BitsTurnOverInMemoryAsTheFileSays) {
  const NvidiaFile file(R"({"gpus":[{"flips":{"memory_after_s":0,"bits":3}}]})");
  const CudaGpu gpu = Open();
  const auto memory = gpu.context->Allocate(4096);
  ASSERT_OK(gpu.context->Fill(memory->get(), 0xff, 4096, nullptr));
  EXPECT_EQ(FlippedBits(*gpu.context, *memory, 4096), 3);
}

TEST(Cuda, ModuleForANewerGpuOrDriverIsUnimplemented) {
  const NvidiaFile file(R"({"gpus":[{"preset":"rtx_2080_ti"}]})");
  EXPECT_THAT(Open().context->LoadModule(kPtx).status(),
              StatusIs(absl::StatusCode::kUnimplemented, Said()));
  const NvidiaFile old(R"({"cuda_version":10020,"gpus":[{"preset":"a100"}]})");
  EXPECT_THAT(Open().context->LoadModule(kPtx).status(),
              StatusIs(absl::StatusCode::kUnimplemented, Said()));
  const NvidiaFile good(R"({"gpus":[{"preset":"a100"}]})");
  EXPECT_OK(Open().context->LoadModule(kPtx).status());
  EXPECT_THAT(Open().context->LoadModule("no ptx").status(),
              StatusIs(absl::StatusCode::kUnimplemented, Said()));
}

TEST(Cuda, MapsAMatrixForTheCopyEngine) {
  const NvidiaFile file(R"({"gpus":[{"preset":"h100"}]})");
  const CudaGpu gpu = Open();
  const auto matrix = gpu.context->Allocate(1 << 20);
  EXPECT_OK(gpu.context->MapMatrix(matrix->get(), 1024, 1024, 256).status());
  EXPECT_THAT(gpu.context->MapMatrix(matrix->get(), 1024, 1024, 257).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("cuTensorMapEncodeTiled")));
  EXPECT_THAT(gpu.context->MapMatrix(matrix->get() + 8, 1024, 1023, 256).status(),
              StatusIs(absl::StatusCode::kInternal, _));
}

TEST(Cuda, PeersReachEachOtherWhereTheyCan) {
  const NvidiaFile file(R"({"gpus":[{"preset":"v100","count":2}]})");
  const CudaGpu gpu = Open();
  const auto peer = CudaContext::Create(*gpu.driver, 1);
  ASSERT_OK(peer.status());
  EXPECT_TRUE(gpu.driver->CanAccessPeer(0, 1).value());
  EXPECT_OK(gpu.context->EnablePeerAccess(**peer));
  EXPECT_OK(gpu.context->EnablePeerAccess(**peer));
  EXPECT_OK(gpu.context->DisablePeerAccess(**peer));
  EXPECT_OK(gpu.context->DisablePeerAccess(**peer));
}

}  // namespace
}  // namespace muster::burnin
