// The part of the CUDA driver's binary interface that is used here: types and numbers of its API
// reference. Every driver since CUDA 9 has the functions of MUSTER_CUDA_FUNCTIONS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::burnin::cuda {

using Device = int;
using Context = void*;
using Module = void*;
using Function = void*;
using Stream = void*;
using Event = void*;
using DevicePointer = unsigned long long;

enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kDeviceNotLicensed = 102,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kPeerAccessUnsupported = 217,
  kInvalidPtx = 218,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kJitCompilationDisabled = 223,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kTooManyPeers = 711,
  kLaunchFailed = 719,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kCompatNotSupported = 804,
  kMpsConnectionFailed = 805,
  kMpsRpcFailure = 806,
  kMpsServerNotReady = 807,
  kMpsMaxClients = 808,
  kMpsMaxConnections = 809,
  kMpsClientTerminated = 810,
  kUnknown = 999,
};

// CUdevice_attribute.
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kClockRateKhz = 13,
  kMultiprocessorCount = 16,
  kIntegrated = 18,
  kComputeMode = 20,
  kMemoryClockRateKhz = 36,
  kMemoryBusWidthBits = 37,
  kL2CacheBytes = 38,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97,
};

inline constexpr int kFunctionMaxDynamicSharedBytes = 8;  // CUfunction_attribute
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kHostAllocPortable = 1;

// CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion and
// CUtensorMapFloatOOBfill.
inline constexpr int kTensorMapBytes = 0, kTensorMapNoInterleave = 0, kTensorMapSwizzle128 = 3;
inline constexpr int kTensorMapPromote256 = 3, kTensorMapFillZeros = 0;

// CUjit_option.
enum JitOption : int {
  kJitInfoLog = 3,
  kJitInfoLogBytes = 4,
  kJitErrorLog = 5,
  kJitErrorLogBytes = 6
};

// X(member, symbol, parameters): each function returns a Result.
#define MUSTER_CUDA_FUNCTIONS(X)                                                             \
  X(Init, "cuInit", (unsigned))                                                              \
  X(DriverGetVersion, "cuDriverGetVersion", (int*))                                          \
  X(GetErrorName, "cuGetErrorName", (int, const char**))                                     \
  X(GetErrorString, "cuGetErrorString", (int, const char**))                                 \
  X(DeviceGetCount, "cuDeviceGetCount", (int*))                                              \
  X(DeviceGet, "cuDeviceGet", (Device*, int))                                                \
  X(DeviceGetName, "cuDeviceGetName", (char*, int, Device))                                  \
  X(DeviceGetByPCIBusId, "cuDeviceGetByPCIBusId", (Device*, const char*))                    \
  X(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char*, int, Device))                          \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", (int*, int, Device))                         \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, Device))                                \
  X(DeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int*, Device, Device))                    \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (Context*, Device))                  \
  X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", (Device))                          \
  X(CtxSetCurrent, "cuCtxSetCurrent", (Context))                                             \
  X(CtxSynchronize, "cuCtxSynchronize", ())                                                  \
  X(CtxEnablePeerAccess, "cuCtxEnablePeerAccess", (Context, unsigned))                       \
  X(CtxDisablePeerAccess, "cuCtxDisablePeerAccess", (Context))                               \
  X(MemGetInfo, "cuMemGetInfo_v2", (size_t*, size_t*))                                       \
  X(MemAlloc, "cuMemAlloc_v2", (DevicePointer*, size_t))                                     \
  X(MemFree, "cuMemFree_v2", (DevicePointer))                                                \
  X(MemHostAlloc, "cuMemHostAlloc", (void**, size_t, unsigned))                              \
  X(MemFreeHost, "cuMemFreeHost", (void*))                                                   \
  X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (DevicePointer, const void*, size_t, Stream))   \
  X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, DevicePointer, size_t, Stream))         \
  X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (DevicePointer, DevicePointer, size_t, Stream)) \
  X(MemcpyPeerAsync, "cuMemcpyPeerAsync",                                                    \
    (DevicePointer, Context, DevicePointer, Context, size_t, Stream))                        \
  X(MemsetD8Async, "cuMemsetD8Async", (DevicePointer, unsigned char, size_t, Stream))        \
  X(MemsetD32Async, "cuMemsetD32Async", (DevicePointer, unsigned, size_t, Stream))           \
  X(StreamCreate, "cuStreamCreate", (Stream*, unsigned))                                     \
  X(StreamDestroy, "cuStreamDestroy_v2", (Stream))                                           \
  X(StreamSynchronize, "cuStreamSynchronize", (Stream))                                      \
  X(StreamQuery, "cuStreamQuery", (Stream))                                                  \
  X(StreamWaitEvent, "cuStreamWaitEvent", (Stream, Event, unsigned))                         \
  X(EventCreate, "cuEventCreate", (Event*, unsigned))                                        \
  X(EventDestroy, "cuEventDestroy_v2", (Event))                                              \
  X(EventRecord, "cuEventRecord", (Event, Stream))                                           \
  X(EventSynchronize, "cuEventSynchronize", (Event))                                         \
  X(EventQuery, "cuEventQuery", (Event))                                                     \
  X(EventElapsedTime, "cuEventElapsedTime", (float*, Event, Event))                          \
  X(ModuleLoadDataEx, "cuModuleLoadDataEx", (Module*, const void*, unsigned, int*, void**))  \
  X(ModuleUnload, "cuModuleUnload", (Module))                                                \
  X(ModuleGetFunction, "cuModuleGetFunction", (Function*, Module, const char*))              \
  X(FuncSetAttribute, "cuFuncSetAttribute", (Function, int, int))                            \
  X(LaunchKernel, "cuLaunchKernel",                                                          \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, \
     void**, void**))

// Functions that came later; nullptr with a driver that lacks them.
#define MUSTER_CUDA_LATER_FUNCTIONS(X)                                               \
  X(TensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                  \
    (void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const unsigned*, \
     const unsigned*, int, int, int, int))

struct Functions {
#define MUSTER_CUDA_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  MUSTER_CUDA_FUNCTIONS(MUSTER_CUDA_MEMBER)
  MUSTER_CUDA_LATER_FUNCTIONS(MUSTER_CUDA_MEMBER)
#undef MUSTER_CUDA_MEMBER
};

}  // namespace muster::burnin::cuda
