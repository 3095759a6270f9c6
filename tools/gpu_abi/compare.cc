// Holds what Muster declares of NVIDIA's libraries against the real headers, when it is compiled.
// tools/check_gpu_abi.py does that, and finds whatever the declarations have and this file lacks.
// GENERATED_CHECKS is a file of CHECK_NVML(…) lines, one for each function that nvml.h declares.
#define NVML_NO_UNVERSIONED_FUNC_DEFS

// The headers of these types need others that are a package of their own; cuBLAS declares pointers
// to them.
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
struct __half;
struct __nv_bfloat16;

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <library_types.h>
#include <nccl.h>
#include <nvml.h>

#include <cstddef>
#include <type_traits>

#include "agent/burnin/gpu/collective/nccl_abi.h"
#include "agent/burnin/gpu/driver/cuda_abi.h"
#include "agent/burnin/gpu/driver/nvml_abi.h"
#include "agent/burnin/gpu/gemm/cublas_abi.h"
#include "agent/burnin/gpu/gemm/cublas_lt_abi.h"
#include "agent/burnin/gpu/kernels/hopper/tensor_map.h"

namespace cublas = muster::burnin::cublas;
namespace cublas_lt = muster::burnin::cublas_lt;
namespace cuda = muster::burnin::cuda;
namespace nccl = muster::burnin::nccl;
namespace nvml = muster::burnin::nvml;

// Structures.

template <typename Ours, typename Theirs>
inline constexpr bool kSameStruct = false;

#define STRUCT(ours, theirs)                              \
  template <>                                             \
  inline constexpr bool kSameStruct<ours, theirs> = true; \
  static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs));
#define FIELD(ours, our_field, theirs, their_field)                          \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field)); \
  static_assert(sizeof(ours::our_field) == sizeof(theirs::their_field));

STRUCT(cublas_lt::Algorithm, cublasLtMatmulAlgo_t)
FIELD(cublas_lt::Algorithm, data, cublasLtMatmulAlgo_t, data)
STRUCT(cublas_lt::Heuristic, cublasLtMatmulHeuristicResult_t)
FIELD(cublas_lt::Heuristic, algorithm, cublasLtMatmulHeuristicResult_t, algo)
FIELD(cublas_lt::Heuristic, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize)
FIELD(cublas_lt::Heuristic, state, cublasLtMatmulHeuristicResult_t, state)
FIELD(cublas_lt::Heuristic, waves, cublasLtMatmulHeuristicResult_t, wavesCount)
STRUCT(nvml::PciInfo, nvmlPciInfo_t)
FIELD(nvml::PciInfo, bus_id_legacy, nvmlPciInfo_t, busIdLegacy)
FIELD(nvml::PciInfo, domain, nvmlPciInfo_t, domain)
FIELD(nvml::PciInfo, bus, nvmlPciInfo_t, bus)
FIELD(nvml::PciInfo, device, nvmlPciInfo_t, device)
FIELD(nvml::PciInfo, pci_device_id, nvmlPciInfo_t, pciDeviceId)
FIELD(nvml::PciInfo, pci_subsystem_id, nvmlPciInfo_t, pciSubSystemId)
FIELD(nvml::PciInfo, bus_id, nvmlPciInfo_t, busId)
STRUCT(nvml::Memory, nvmlMemory_t)
FIELD(nvml::Memory, total, nvmlMemory_t, total)
FIELD(nvml::Memory, free, nvmlMemory_t, free)
FIELD(nvml::Memory, used, nvmlMemory_t, used)
STRUCT(nvml::MemoryV2, nvmlMemory_v2_t)
FIELD(nvml::MemoryV2, version, nvmlMemory_v2_t, version)
FIELD(nvml::MemoryV2, total, nvmlMemory_v2_t, total)
FIELD(nvml::MemoryV2, reserved, nvmlMemory_v2_t, reserved)
FIELD(nvml::MemoryV2, free, nvmlMemory_v2_t, free)
FIELD(nvml::MemoryV2, used, nvmlMemory_v2_t, used)
STRUCT(nvml::Utilization, nvmlUtilization_t)
FIELD(nvml::Utilization, gpu, nvmlUtilization_t, gpu)
FIELD(nvml::Utilization, memory, nvmlUtilization_t, memory)
// Ours is aligned as in CUDA 13, which no older driver minds.
static_assert(sizeof(muster::kernels::TensorMap) == sizeof(CUtensorMap) &&
              alignof(muster::kernels::TensorMap) >= alignof(CUtensorMap));
STRUCT(nvml::ProcessInfoV1, nvmlProcessInfo_v1_t)
FIELD(nvml::ProcessInfoV1, pid, nvmlProcessInfo_v1_t, pid)
FIELD(nvml::ProcessInfoV1, used_gpu_memory, nvmlProcessInfo_v1_t, usedGpuMemory)
STRUCT(nvml::ProcessInfo, nvmlProcessInfo_v2_t)
FIELD(nvml::ProcessInfo, pid, nvmlProcessInfo_v2_t, pid)
FIELD(nvml::ProcessInfo, used_gpu_memory, nvmlProcessInfo_v2_t, usedGpuMemory)
FIELD(nvml::ProcessInfo, gpu_instance_id, nvmlProcessInfo_v2_t, gpuInstanceId)
FIELD(nvml::ProcessInfo, compute_instance_id, nvmlProcessInfo_v2_t, computeInstanceId)
// The structure that the drivers with wide entries wrote is declared for another call today.
STRUCT(nvml::WideProcessInfo, nvmlProcessDetail_v1_t)
FIELD(nvml::WideProcessInfo, used_protected_memory, nvmlProcessDetail_v1_t,
      usedGpuCcProtectedMemory)
STRUCT(nvml::FabricInfoV1, nvmlGpuFabricInfo_t)
FIELD(nvml::FabricInfoV1, cluster_uuid, nvmlGpuFabricInfo_t, clusterUuid)
FIELD(nvml::FabricInfoV1, status, nvmlGpuFabricInfo_t, status)
FIELD(nvml::FabricInfoV1, clique_id, nvmlGpuFabricInfo_t, cliqueId)
FIELD(nvml::FabricInfoV1, state, nvmlGpuFabricInfo_t, state)
STRUCT(nvml::FabricInfo, nvmlGpuFabricInfo_v2_t)
FIELD(nvml::FabricInfo, version, nvmlGpuFabricInfo_v2_t, version)
FIELD(nvml::FabricInfo, cluster_uuid, nvmlGpuFabricInfo_v2_t, clusterUuid)
FIELD(nvml::FabricInfo, status, nvmlGpuFabricInfo_v2_t, status)
FIELD(nvml::FabricInfo, clique_id, nvmlGpuFabricInfo_v2_t, cliqueId)
FIELD(nvml::FabricInfo, state, nvmlGpuFabricInfo_v2_t, state)
FIELD(nvml::FabricInfo, health_mask, nvmlGpuFabricInfo_v2_t, healthMask)
STRUCT(nvml::FieldValue, nvmlFieldValue_t)
FIELD(nvml::FieldValue, field_id, nvmlFieldValue_t, fieldId)
FIELD(nvml::FieldValue, scope_id, nvmlFieldValue_t, scopeId)
FIELD(nvml::FieldValue, timestamp, nvmlFieldValue_t, timestamp)
FIELD(nvml::FieldValue, latency_us, nvmlFieldValue_t, latencyUsec)
FIELD(nvml::FieldValue, value_type, nvmlFieldValue_t, valueType)
FIELD(nvml::FieldValue, result, nvmlFieldValue_t, nvmlReturn)
FIELD(nvml::FieldValue, value, nvmlFieldValue_t, value)
STRUCT(nvml::EventData, nvmlEventData_t)
FIELD(nvml::EventData, device, nvmlEventData_t, device)
FIELD(nvml::EventData, event_type, nvmlEventData_t, eventType)
FIELD(nvml::EventData, event_data, nvmlEventData_t, eventData)
FIELD(nvml::EventData, gpu_instance_id, nvmlEventData_t, gpuInstanceId)
FIELD(nvml::EventData, compute_instance_id, nvmlEventData_t, computeInstanceId)
// Later than NVML 12.4, the one in Debian.
#ifdef nvmlMarginTemperature_v1
STRUCT(nvml::MarginTemperature, nvmlMarginTemperature_v1_t)
FIELD(nvml::MarginTemperature, version, nvmlMarginTemperature_v1_t, version)
FIELD(nvml::MarginTemperature, celsius, nvmlMarginTemperature_v1_t, marginTemperature)
#endif

// Functions: the types of our declaration may only be simpler spellings of the real ones.

template <typename Ours, typename Theirs>
constexpr bool Alike();

template <typename Ours, typename Theirs>
constexpr bool AlikePointee() {
  // A handle, or bytes.
  if constexpr (std::is_void_v<std::remove_const_t<Ours>>)
    return true;
  else if constexpr (std::is_const_v<Ours> != std::is_const_v<Theirs>)
    return false;
  else
    return Alike<std::remove_const_t<Ours>, std::remove_const_t<Theirs>>();
}

template <typename Ours, typename Theirs>
constexpr bool Alike() {
  if constexpr (std::is_same_v<Ours, Theirs>)
    return true;
  else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>)
    return AlikePointee<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
  else if constexpr (std::is_enum_v<Theirs> && std::is_integral_v<Ours>)
    return sizeof(Ours) == sizeof(Theirs);
  else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>)
    return kSameStruct<Ours, Theirs>;
  else
    return false;
}

template <typename Ours, typename Theirs>
inline constexpr bool kSameFunction = false;
template <typename Ours, typename... OurTypes, typename Theirs, typename... TheirTypes>
requires(sizeof...(OurTypes) == sizeof...(TheirTypes)) inline constexpr bool kSameFunction<
    Ours (*)(OurTypes...), Theirs (*)(TheirTypes...)> = Alike<Ours, Theirs>() &&
                                                        (Alike<OurTypes, TheirTypes>() && ...);

#define CHECK_NVML(function) \
  static_assert(kSameFunction<nvml::function::Entry, decltype(&nvml##function)>, #function);
#include GENERATED_CHECKS

// cuda.h gives the plain names their present versions: those that are bound by name.
#define CHECK_CUDA(member, symbol, parameters) \
  static_assert(kSameFunction<decltype(cuda::Functions::member), decltype(&cu##member)>, symbol);
MUSTER_CUDA_FUNCTIONS(CHECK_CUDA)
MUSTER_CUDA_LATER_FUNCTIONS(CHECK_CUDA)

namespace real_cublas {
using Create = decltype(&cublasCreate_v2);
using Destroy = decltype(&cublasDestroy_v2);
using SetStream = decltype(&cublasSetStream_v2);
using GetVersion = decltype(&cublasGetVersion_v2);
// The one that the library exports: the header has another of its own for C++.
using GemmEx =
    decltype(static_cast<cublasStatus_t (*)(
                 cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                 const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                 cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t)>(&cublasGemmEx));
}  // namespace real_cublas
#define CHECK_CUBLAS(member, symbol, parameters) \
  static_assert(kSameFunction<decltype(cublas::Functions::member), real_cublas::member>, symbol);
MUSTER_CUBLAS_FUNCTIONS(CHECK_CUBLAS)

namespace real_cublas_lt {
using Create = decltype(&cublasLtCreate);
using Destroy = decltype(&cublasLtDestroy);
using GetProperty = decltype(&cublasLtGetProperty);
using OperationCreate = decltype(&cublasLtMatmulDescCreate);
using OperationDestroy = decltype(&cublasLtMatmulDescDestroy);
using OperationSet = decltype(&cublasLtMatmulDescSetAttribute);
using LayoutCreate = decltype(&cublasLtMatrixLayoutCreate);
using LayoutDestroy = decltype(&cublasLtMatrixLayoutDestroy);
using PreferenceCreate = decltype(&cublasLtMatmulPreferenceCreate);
using PreferenceDestroy = decltype(&cublasLtMatmulPreferenceDestroy);
using PreferenceSet = decltype(&cublasLtMatmulPreferenceSetAttribute);
using FindAlgorithms = decltype(&cublasLtMatmulAlgoGetHeuristic);
using Multiply = decltype(&cublasLtMatmul);
}  // namespace real_cublas_lt
#define CHECK_CUBLAS_LT(member, symbol, parameters)                                            \
  static_assert(kSameFunction<decltype(cublas_lt::Functions::member), real_cublas_lt::member>, \
                symbol);
MUSTER_CUBLAS_LT_FUNCTIONS(CHECK_CUBLAS_LT)

#define CHECK_NCCL(result, member, symbol, parameters) \
  static_assert(kSameFunction<decltype(nccl::Functions::member), decltype(&nccl##member)>, symbol);
MUSTER_NCCL_FUNCTIONS(CHECK_NCCL)

// Numbers.

#define SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs));

SAME(nvml::kSuccess, NVML_SUCCESS)
SAME(nvml::kUninitialized, NVML_ERROR_UNINITIALIZED)
SAME(nvml::kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT)
SAME(nvml::kNotSupported, NVML_ERROR_NOT_SUPPORTED)
SAME(nvml::kNoPermission, NVML_ERROR_NO_PERMISSION)
SAME(nvml::kNotFound, NVML_ERROR_NOT_FOUND)
SAME(nvml::kDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED)
SAME(nvml::kTimeout, NVML_ERROR_TIMEOUT)
SAME(nvml::kFunctionNotFound, NVML_ERROR_FUNCTION_NOT_FOUND)
SAME(nvml::kCorruptedInforom, NVML_ERROR_CORRUPTED_INFOROM)
SAME(nvml::kGpuIsLost, NVML_ERROR_GPU_IS_LOST)
SAME(nvml::kResetRequired, NVML_ERROR_RESET_REQUIRED)
SAME(nvml::kLibraryMismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH)
SAME(nvml::kArgumentVersionMismatch, NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
SAME(nvml::kUnknown, NVML_ERROR_UNKNOWN)
SAME(nvml::kFabricInfoVersion, nvmlGpuFabricInfo_v2)
SAME(nvml::kMemoryVersion, nvmlMemory_v2)
SAME(nvml::kFabricNotSupported, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED)
SAME(nvml::kFabricNotStarted, NVML_GPU_FABRIC_STATE_NOT_STARTED)
SAME(nvml::kFabricInProgress, NVML_GPU_FABRIC_STATE_IN_PROGRESS)
SAME(nvml::kFabricCompleted, NVML_GPU_FABRIC_STATE_COMPLETED)
SAME(nvml::kHealthDegradedBandwidth, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW)
SAME(nvml::kHealthFlagTrue, NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE)
SAME(nvml::kValueDouble, NVML_VALUE_TYPE_DOUBLE)
SAME(nvml::kValueUnsigned, NVML_VALUE_TYPE_UNSIGNED_INT)
SAME(nvml::kValueUnsignedLong, NVML_VALUE_TYPE_UNSIGNED_LONG)
SAME(nvml::kValueUnsignedLongLong, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG)
SAME(nvml::kValueSignedLongLong, NVML_VALUE_TYPE_SIGNED_LONG_LONG)
SAME(nvml::kValueSigned, NVML_VALUE_TYPE_SIGNED_INT)
SAME(nvml::kFieldMemoryTemperature, NVML_FI_DEV_MEMORY_TEMP)
SAME(nvml::kFieldGpuMaxMargin, NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT)
SAME(nvml::kEventXid, nvmlEventTypeXidCriticalError)
SAME(nvml::kComputeDefault, NVML_COMPUTEMODE_DEFAULT)
SAME(nvml::kComputeExclusiveThread, NVML_COMPUTEMODE_EXCLUSIVE_THREAD)
SAME(nvml::kComputeProhibited, NVML_COMPUTEMODE_PROHIBITED)
SAME(nvml::kComputeExclusiveProcess, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS)
SAME(nvml::kThresholdSlowdown, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)
SAME(nvml::kThresholdMemoryMax, NVML_TEMPERATURE_THRESHOLD_MEM_MAX)
SAME(nvml::kThresholdGpuMax, NVML_TEMPERATURE_THRESHOLD_GPU_MAX)
SAME(nvml::kClockGraphics, NVML_CLOCK_GRAPHICS)
SAME(nvml::kClockSm, NVML_CLOCK_SM)
SAME(nvml::kClockMemory, NVML_CLOCK_MEM)
SAME(nvml::kVolatileEcc, NVML_VOLATILE_ECC)
SAME(nvml::kAggregateEcc, NVML_AGGREGATE_ECC)
SAME(nvml::kCorrected, NVML_MEMORY_ERROR_TYPE_CORRECTED)
SAME(nvml::kUncorrected, NVML_MEMORY_ERROR_TYPE_UNCORRECTED)
SAME(nvml::kMultipleSingleBit, NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS)
SAME(nvml::kDoubleBit, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR)
SAME(nvml::kLinkReplay, NVML_NVLINK_ERROR_DL_REPLAY)
SAME(nvml::kLinkRecovery, NVML_NVLINK_ERROR_DL_RECOVERY)
SAME(nvml::kLinkCrcFlit, NVML_NVLINK_ERROR_DL_CRC_FLIT)
SAME(nvml::kLinkCrcData, NVML_NVLINK_ERROR_DL_CRC_DATA)
SAME(nvml::kReasonIdle, nvmlClocksEventReasonGpuIdle)
SAME(nvml::kReasonApplicationClocks, nvmlClocksEventReasonApplicationsClocksSetting)
SAME(nvml::kReasonSoftwarePowerCap, nvmlClocksEventReasonSwPowerCap)
SAME(nvml::kReasonHardwareSlowdown, nvmlClocksThrottleReasonHwSlowdown)
SAME(nvml::kReasonSyncBoost, nvmlClocksEventReasonSyncBoost)
SAME(nvml::kReasonSoftwareThermal, nvmlClocksEventReasonSwThermalSlowdown)
SAME(nvml::kReasonHardwareThermal, nvmlClocksThrottleReasonHwThermalSlowdown)
SAME(nvml::kReasonPowerBrake, nvmlClocksThrottleReasonHwPowerBrakeSlowdown)
SAME(nvml::kReasonDisplayClocks, nvmlClocksEventReasonDisplayClockSetting)
static_assert(nvml::kMaxLinks >= NVML_NVLINK_MAX_LINKS);
static_assert(nvml::kTextSize >= NVML_DEVICE_NAME_V2_BUFFER_SIZE);
static_assert(nvml::kTextSize >= NVML_DEVICE_UUID_V2_BUFFER_SIZE);
static_assert(nvml::kTextSize >= NVML_DEVICE_SERIAL_BUFFER_SIZE);
static_assert(nvml::kTextSize >= NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE);
static_assert(nvml::kTextSize >= NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);

// Later than NVML 12.4, the one in Debian.
#ifdef NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION
SAME(nvml::kHealthFlagMask, NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW)
SAME(nvml::kHealthRouteRecovery, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY)
SAME(nvml::kHealthRouteUnhealthy, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY)
SAME(nvml::kHealthAccessTimeout, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY)
SAME(nvml::kHealthIncorrectConfiguration, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION)
SAME(nvml::kHealthConfigurationMask, NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION)
SAME(nvml::kHealthConfigurationRight, NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE)
SAME(nvml::kMarginTemperatureVersion, nvmlMarginTemperature_v1)
#endif

SAME(cuda::kSuccess, CUDA_SUCCESS)
SAME(cuda::kInvalidValue, CUDA_ERROR_INVALID_VALUE)
SAME(cuda::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
SAME(cuda::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED)
SAME(cuda::kStubLibrary, CUDA_ERROR_STUB_LIBRARY)
SAME(cuda::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE)
SAME(cuda::kNoDevice, CUDA_ERROR_NO_DEVICE)
SAME(cuda::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE)
SAME(cuda::kDeviceNotLicensed, CUDA_ERROR_DEVICE_NOT_LICENSED)
SAME(cuda::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT)
SAME(cuda::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU)
SAME(cuda::kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE)
SAME(cuda::kPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
SAME(cuda::kInvalidPtx, CUDA_ERROR_INVALID_PTX)
SAME(cuda::kJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
SAME(cuda::kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
SAME(cuda::kJitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED)
SAME(cuda::kNotFound, CUDA_ERROR_NOT_FOUND)
SAME(cuda::kNotReady, CUDA_ERROR_NOT_READY)
SAME(cuda::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS)
SAME(cuda::kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
SAME(cuda::kPeerAccessNotEnabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
SAME(cuda::kTooManyPeers, CUDA_ERROR_TOO_MANY_PEERS)
SAME(cuda::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED)
SAME(cuda::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY)
SAME(cuda::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
SAME(cuda::kCompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)
SAME(cuda::kMpsConnectionFailed, CUDA_ERROR_MPS_CONNECTION_FAILED)
SAME(cuda::kMpsRpcFailure, CUDA_ERROR_MPS_RPC_FAILURE)
SAME(cuda::kMpsServerNotReady, CUDA_ERROR_MPS_SERVER_NOT_READY)
SAME(cuda::kMpsMaxClients, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED)
SAME(cuda::kMpsMaxConnections, CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED)
SAME(cuda::kMpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED)
SAME(cuda::kUnknown, CUDA_ERROR_UNKNOWN)
SAME(cuda::kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
SAME(cuda::kMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
SAME(cuda::kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE)
SAME(cuda::kClockRateKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
SAME(cuda::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
SAME(cuda::kIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED)
SAME(cuda::kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)
SAME(cuda::kMemoryClockRateKhz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
SAME(cuda::kMemoryBusWidthBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
SAME(cuda::kL2CacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
SAME(cuda::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SAME(cuda::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SAME(cuda::kMaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
SAME(cuda::kTensorMapBytes, CU_TENSOR_MAP_DATA_TYPE_UINT8)
SAME(cuda::kTensorMapNoInterleave, CU_TENSOR_MAP_INTERLEAVE_NONE)
SAME(cuda::kTensorMapSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B)
SAME(cuda::kTensorMapPromote256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
SAME(cuda::kTensorMapFillZeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
SAME(cuda::kFunctionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
SAME(cuda::kStreamNonBlocking, CU_STREAM_NON_BLOCKING)
SAME(cuda::kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE)
SAME(cuda::kJitInfoLog, CU_JIT_INFO_LOG_BUFFER)
SAME(cuda::kJitInfoLogBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
SAME(cuda::kJitErrorLog, CU_JIT_ERROR_LOG_BUFFER)
SAME(cuda::kJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)

SAME(cublas_lt::kR8FE4M3, CUDA_R_8F_E4M3)
SAME(cublas_lt::kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA)
SAME(cublas_lt::kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB)
SAME(cublas_lt::kFastAccumulation, CUBLASLT_MATMUL_DESC_FAST_ACCUM)
SAME(cublas_lt::kMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
SAME(cublas_lt::kMajorVersion, MAJOR_VERSION)
SAME(cublas_lt::kMinorVersion, MINOR_VERSION)
SAME(cublas_lt::kPatchLevel, PATCH_LEVEL)
SAME(cublas::kSuccess, CUBLAS_STATUS_SUCCESS)
SAME(cublas::kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED)
SAME(cublas::kAllocFailed, CUBLAS_STATUS_ALLOC_FAILED)
SAME(cublas::kInvalidValue, CUBLAS_STATUS_INVALID_VALUE)
SAME(cublas::kArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH)
SAME(cublas::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED)
SAME(cublas::kR32F, CUDA_R_32F)
SAME(cublas::kR64F, CUDA_R_64F)
SAME(cublas::kR16F, CUDA_R_16F)
SAME(cublas::kR8I, CUDA_R_8I)
SAME(cublas::kR32I, CUDA_R_32I)
SAME(cublas::kR16BF, CUDA_R_16BF)
SAME(cublas::kCompute32F, CUBLAS_COMPUTE_32F)
SAME(cublas::kCompute64F, CUBLAS_COMPUTE_64F)
SAME(cublas::kCompute32I, CUBLAS_COMPUTE_32I)
SAME(cublas::kCompute32FFastTf32, CUBLAS_COMPUTE_32F_FAST_TF32)
SAME(cublas::kNoTranspose, CUBLAS_OP_N)
SAME(cublas::kTranspose, CUBLAS_OP_T)
SAME(cublas::kDefaultAlgorithm, CUBLAS_GEMM_DEFAULT)

SAME(nccl::kFloat32, ncclFloat32)
SAME(nccl::kSum, ncclSum)
