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
};
// Any other code is Internal.
constexpr CudaCodeRow kCudaCodes[] = {
    {cuda::kOutOfMemory, absl::StatusCode::kResourceExhausted},
    {cuda::kDeviceUnavailable, absl::StatusCode::kDataLoss},
    {cuda::kEccUncorrectable, absl::StatusCode::kDataLoss},
    {cuda::kNoDevice, absl::StatusCode::kNotFound},
    {cuda::kInvalidDevice, absl::StatusCode::kNotFound},
    {cuda::kNotFound, absl::StatusCode::kNotFound},
    {cuda::kNoBinaryForGpu, absl::StatusCode::kUnimplemented},
    {cuda::kInvalidPtx, absl::StatusCode::kUnimplemented},
    {cuda::kUnsupportedPtxVersion, absl::StatusCode::kUnimplemented},
    {cuda::kPeerAccessUnsupported, absl::StatusCode::kUnimplemented},
    {cuda::kSystemDriverMismatch, absl::StatusCode::kFailedPrecondition},
};

absl::StatusCode CudaCodeOf(int code) {
  for (const CudaCodeRow& row : kCudaCodes)
    if (row.code == code) return row.status;
  return absl::StatusCode::kInternal;
}

absl::Status BindAll(const DynamicLibrary& library, cuda::Functions& functions) {
#define MUSTER_CUDA_BIND(member, symbol, parameters) \
  RETURN_IF_ERROR(library.Bind(symbol, functions.member));
  MUSTER_CUDA_FUNCTIONS(MUSTER_CUDA_BIND)
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
  return absl::Status(CudaCodeOf(code),
                      absl::StrCat(function, ": ", text != nullptr ? text : "error", " (",
                                   name != nullptr ? name : "", " ", code, ")"));
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
