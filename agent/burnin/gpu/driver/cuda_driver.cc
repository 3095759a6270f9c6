#include "agent/burnin/gpu/driver/cuda_driver.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/driver/dynamic_library.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

struct CudaCodeRow {
  int code;
  absl::StatusCode status;
  const char* remedy = "";
};
constexpr char kMpsRemedy[] =
    "the Multi-Process Service does not let this program work: end it (echo quit | "
    "nvidia-cuda-mps-control), or look into its log";
// Any other code is Internal. FailedPrecondition is a state of the node's software, which says
// nothing about the GPU; DataLoss alone is the GPU's memory.
constexpr CudaCodeRow kCudaCodes[] = {
    {cuda::kOutOfMemory, absl::StatusCode::kResourceExhausted},
    {cuda::kStubLibrary, absl::StatusCode::kFailedPrecondition,
     "this libcuda.so.1 is the stub for linking: take the CUDA toolkit's folder 'stubs' out of "
     "LD_LIBRARY_PATH"},
    {cuda::kDeviceUnavailable, absl::StatusCode::kFailedPrecondition,
     "its compute mode is prohibited, or exclusive and another program uses it: nvidia-smi -q -d "
     "COMPUTE shows the mode, nvidia-smi -c DEFAULT resets it"},
    {cuda::kDeviceNotLicensed, absl::StatusCode::kFailedPrecondition,
     "this virtual GPU has no license: check nvidia-gridd"},
    {cuda::kJitCompilerNotFound, absl::StatusCode::kFailedPrecondition,
     "the driver's compiler is missing: install libnvidia-ptxjitcompiler1"},
    {cuda::kJitCompilationDisabled, absl::StatusCode::kFailedPrecondition,
     "the driver may not compile: unset CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT"},
    {cuda::kTooManyPeers, absl::StatusCode::kFailedPrecondition,
     "the GPU has as many peers as it can reach at a time"},
    {cuda::kSystemNotReady, absl::StatusCode::kFailedPrecondition,
     "a service of the driver is missing: is the fabric manager (nvidia-fabricmanager) running?"},
    {cuda::kCompatNotSupported, absl::StatusCode::kFailedPrecondition,
     "a newer CUDA's compatibility library does not support this GPU: remove the package "
     "cuda-compat, or update the driver"},
    {cuda::kMpsConnectionFailed, absl::StatusCode::kFailedPrecondition, kMpsRemedy},
    {cuda::kMpsRpcFailure, absl::StatusCode::kFailedPrecondition, kMpsRemedy},
    {cuda::kMpsServerNotReady, absl::StatusCode::kFailedPrecondition, kMpsRemedy},
    {cuda::kMpsMaxClients, absl::StatusCode::kFailedPrecondition, kMpsRemedy},
    {cuda::kMpsMaxConnections, absl::StatusCode::kFailedPrecondition, kMpsRemedy},
    {cuda::kMpsClientTerminated, absl::StatusCode::kFailedPrecondition, kMpsRemedy},
    {cuda::kEccUncorrectable, absl::StatusCode::kDataLoss},
    {cuda::kNoDevice, absl::StatusCode::kNotFound},
    {cuda::kInvalidDevice, absl::StatusCode::kNotFound},
    {cuda::kNotFound, absl::StatusCode::kNotFound},
    {cuda::kNoBinaryForGpu, absl::StatusCode::kUnimplemented},
    {cuda::kInvalidPtx, absl::StatusCode::kUnimplemented},
    {cuda::kUnsupportedPtxVersion, absl::StatusCode::kUnimplemented},
    {cuda::kPeerAccessUnsupported, absl::StatusCode::kUnimplemented},
    {cuda::kSystemDriverMismatch, absl::StatusCode::kFailedPrecondition,
     "reboot, so that the kernel loads the module of the installed driver"},
};
constexpr CudaCodeRow kOtherCode = {-1, absl::StatusCode::kInternal};

const CudaCodeRow& CudaCodeOf(int code) {
  for (const CudaCodeRow& row : kCudaCodes)
    if (row.code == code) return row;
  return kOtherCode;
}

absl::Status BindAll(const DynamicLibrary& library, cuda::Functions& functions) {
#define MUSTER_CUDA_BIND(member, symbol, parameters) \
  RETURN_IF_ERROR(library.Bind(symbol, functions.member));
  MUSTER_CUDA_FUNCTIONS(MUSTER_CUDA_BIND)
#undef MUSTER_CUDA_BIND
#define MUSTER_CUDA_BIND(member, symbol, parameters) \
  library.Bind(symbol, functions.member).IgnoreError();
  MUSTER_CUDA_LATER_FUNCTIONS(MUSTER_CUDA_BIND)
#undef MUSTER_CUDA_BIND
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaDriver>> CudaDriver::Load(const std::string& library) {
  ASSIGN_OR_RETURN(const DynamicLibrary loaded, DynamicLibrary::Load(library));
  auto driver = absl::WrapUnique(new CudaDriver);
  RETURN_IF_ERROR(
      Annotate(BindAll(loaded, driver->functions_), "a driver of CUDA 9 or newer is required"));
  RETURN_IF_ERROR(driver->ToStatus(driver->functions_.Init(0), "cuInit"));
  RETURN_IF_ERROR(driver->ToStatus(driver->functions_.DriverGetVersion(&driver->version_),
                                   "cuDriverGetVersion"));
  return driver;
}

absl::Status CudaDriver::ToStatus(int code, absl::string_view function) const {
  if (code == cuda::kSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  functions_.GetErrorName(code, &name);
  functions_.GetErrorString(code, &text);
  const CudaCodeRow& row = CudaCodeOf(code);
  const absl::string_view remedy = row.remedy;
  return absl::Status(row.status, absl::StrCat(function, ": ", text != nullptr ? text : "error",
                                               " (", name != nullptr ? name : "", " ", code, ")",
                                               remedy.empty() ? "" : ": ", remedy));
}

absl::StatusOr<int> CudaDriver::DeviceCount() const {
  int count = 0;
  RETURN_IF_ERROR(ToStatus(functions_.DeviceGetCount(&count), "cuDeviceGetCount"));
  return count;
}

absl::StatusOr<cuda::Device> CudaDriver::DeviceByPciAddress(const std::string& address) const {
  cuda::Device device = 0;
  if (functions_.DeviceGetByPCIBusId(&device, address.c_str()) == cuda::kSuccess) return device;
  return absl::NotFoundError(absl::StrCat("CUDA does not see the GPU at ", address));
}

absl::StatusOr<int> CudaDriver::Attribute(cuda::Device device, cuda::Attribute attribute) const {
  int value = 0;
  RETURN_IF_ERROR(
      ToStatus(functions_.DeviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute"));
  return value;
}

absl::StatusOr<int> CudaDriver::ComputeCapability(cuda::Device device) const {
  ASSIGN_OR_RETURN(const int major, Attribute(device, cuda::kComputeCapabilityMajor));
  ASSIGN_OR_RETURN(const int minor, Attribute(device, cuda::kComputeCapabilityMinor));
  return 10 * major + minor;
}

absl::StatusOr<bool> CudaDriver::CanAccessPeer(cuda::Device device, cuda::Device peer) const {
  int can = 0;
  RETURN_IF_ERROR(
      ToStatus(functions_.DeviceCanAccessPeer(&can, device, peer), "cuDeviceCanAccessPeer"));
  return can != 0;
}

}  // namespace muster::burnin
