// The part of NVML's binary interface that is used here: types and numbers of its API reference,
// stable since the _v2 and _v3 names were introduced.
#pragma once

#include <cstdint>

namespace muster::burnin::nvml {

using Device = void*;
using EventSet = void*;

enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kCorruptedInforom = 14,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kLibraryMismatch = 18,
  kArgumentVersionMismatch = 25,
  kUnknown = 999,
};

// Large enough for any text that NVML returns.
inline constexpr unsigned kTextSize = 96;
// Of any GPU: NVML_NVLINK_MAX_LINKS, which was 18 until NVML 12.
inline constexpr unsigned kMaxLinks = 36;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {
  unsigned long long total, free, used;
};

// nvmlDeviceGetMemoryInfo_v2 fills it: unlike above, what the driver keeps for itself is not used.
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
inline constexpr unsigned kMemoryVersion = sizeof(MemoryV2) | (2u << 24);

struct Utilization {
  unsigned gpu, memory;  // percent
};

// An entry of nvmlDeviceGet{Compute,Graphics}RunningProcesses, which has no suffix.
struct ProcessInfoV1 {
  unsigned pid;
  unsigned long long used_gpu_memory;
};
static_assert(sizeof(ProcessInfoV1) == 16);

// An entry of the same calls with the suffixes _v2 (driver 450 and later) and _v3 (510 and later).
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id, compute_instance_id;
};
static_assert(sizeof(ProcessInfo) == 24);

// An entry of the _v3 calls of drivers 535.43 to 535.86 alone, which 535.98 took back.
struct WideProcessInfo {
  ProcessInfo process;
  unsigned long long used_protected_memory;
};
static_assert(sizeof(WideProcessInfo) == 32);

// Of nvmlDeviceGetGpuFabricInfo (driver 525 and later).
struct FabricInfoV1 {
  unsigned char cluster_uuid[16];
  int status;
  unsigned clique_id;
  unsigned char state;
};
static_assert(sizeof(FabricInfoV1) == 28);

// Of nvmlDeviceGetGpuFabricInfoV (driver 550 and later).
struct FabricInfo {
  unsigned version;
  unsigned char cluster_uuid[16];
  int status;
  unsigned clique_id;
  unsigned char state;
  unsigned health_mask;
};
static_assert(sizeof(FabricInfo) == 36);
inline constexpr unsigned kFabricInfoVersion = sizeof(FabricInfo) | (2u << 24);

enum FabricState : unsigned char {
  kFabricNotSupported = 0,
  kFabricNotStarted = 1,
  kFabricInProgress = 2,
  kFabricCompleted = 3,
};

// Fields of FabricInfo::health_mask: where each begins, and its bits from there.
enum FabricHealthShift : unsigned {
  kHealthDegradedBandwidth = 0,
  kHealthRouteRecovery = 2,
  kHealthRouteUnhealthy = 4,
  kHealthAccessTimeout = 6,
  kHealthIncorrectConfiguration = 8,
};
inline constexpr unsigned kHealthFlagMask = 0x3;
inline constexpr unsigned kHealthFlagTrue = 1;
inline constexpr unsigned kHealthConfigurationMask = 0xf;
inline constexpr unsigned kHealthConfigurationRight = 1;

// One reading of nvmlDeviceGetFieldValues().
struct FieldValue {
  unsigned field_id, scope_id;
  long long timestamp, latency_us;
  int value_type;
  int result;  // a Return
  union {
    double as_double;
    int as_signed;
    unsigned as_unsigned;
    unsigned long long as_long;
  } value;
};
static_assert(sizeof(FieldValue) == 40);
enum ValueType : int {
  kValueDouble = 0,
  kValueUnsigned = 1,
  kValueUnsignedLong = 2,
  kValueUnsignedLongLong = 3,
  kValueSignedLongLong = 4,
  kValueSigned = 5,
};
enum Field : unsigned {
  kFieldMemoryTemperature = 82,
  kFieldGpuMaxMargin = 196,  // driver 535 and later, Ada and later
};

// Of nvmlDeviceGetMarginTemperature.
struct MarginTemperature {
  unsigned version;
  int celsius;
};
static_assert(sizeof(MarginTemperature) == 8);
inline constexpr unsigned kMarginTemperatureVersion = sizeof(MarginTemperature) | (1u << 24);

// What nvmlEventSetWait_v2 tells.
struct EventData {
  Device device;
  unsigned long long event_type;
  unsigned long long event_data;  // of kEventXid: the Xid
  unsigned gpu_instance_id, compute_instance_id;
};
static_assert(sizeof(EventData) == 32);
enum EventType : unsigned long long { kEventXid = 0x8 };

enum ComputeMode : int {
  kComputeDefault = 0,
  kComputeExclusiveThread = 1,
  kComputeProhibited = 2,
  kComputeExclusiveProcess = 3,
};

enum TemperatureThreshold : int {
  kThresholdSlowdown = 1,
  kThresholdMemoryMax = 2,
  kThresholdGpuMax = 3,
};
enum ClockType : int { kClockGraphics = 0, kClockSm = 1, kClockMemory = 2 };
enum EccCounter : int { kVolatileEcc = 0, kAggregateEcc = 1 };
enum MemoryErrorType : int { kCorrected = 0, kUncorrected = 1 };
enum RetirementCause : int { kMultipleSingleBit = 0, kDoubleBit = 1 };
enum LinkErrorCounter : int {
  kLinkReplay = 0,
  kLinkRecovery = 1,
  kLinkCrcFlit = 2,
  kLinkCrcData = 3,
};

// Bits of the result of nvmlDeviceGetCurrentClocksEventReasons.
enum ClockReason : unsigned long long {
  kReasonIdle = 0x1,
  kReasonApplicationClocks = 0x2,
  kReasonSoftwarePowerCap = 0x4,
  kReasonHardwareSlowdown = 0x8,
  kReasonSyncBoost = 0x10,
  kReasonSoftwareThermal = 0x20,
  kReasonHardwareThermal = 0x40,
  kReasonPowerBrake = 0x80,
  kReasonDisplayClocks = 0x100,
};

// X(function, parameters): each is exported under this name with "nvml" before it, and returns a
// Return. An enum is passed as the int that it is.
#define MUSTER_NVML_FUNCTIONS(X)                                                 \
  X(Init_v2, ())                                                                 \
  X(SystemGetDriverVersion, (char*, unsigned))                                   \
  X(DeviceGetCount_v2, (unsigned*))                                              \
  X(DeviceGetHandleByIndex_v2, (unsigned, Device*))                              \
  X(DeviceGetUUID, (Device, char*, unsigned))                                    \
  X(DeviceGetName, (Device, char*, unsigned))                                    \
  X(DeviceGetSerial, (Device, char*, unsigned))                                  \
  X(DeviceGetVbiosVersion, (Device, char*, unsigned))                            \
  X(DeviceGetPciInfo_v3, (Device, PciInfo*))                                     \
  X(DeviceGetMemoryInfo, (Device, Memory*))                                      \
  X(DeviceGetMemoryInfo_v2, (Device, MemoryV2*))                                 \
  X(DeviceGetPersistenceMode, (Device, unsigned*))                               \
  X(DeviceGetUtilizationRates, (Device, Utilization*))                           \
  X(DeviceGetTemperature, (Device, int, unsigned*))                              \
  X(DeviceGetTemperatureThreshold, (Device, int, unsigned*))                     \
  X(DeviceGetMarginTemperature, (Device, MarginTemperature*))                    \
  X(DeviceGetFieldValues, (Device, int, FieldValue*))                            \
  X(DeviceGetPowerUsage, (Device, unsigned*))                                    \
  X(DeviceGetEnforcedPowerLimit, (Device, unsigned*))                            \
  X(DeviceGetClockInfo, (Device, int, unsigned*))                                \
  X(DeviceGetMaxClockInfo, (Device, int, unsigned*))                             \
  X(DeviceGetApplicationsClock, (Device, int, unsigned*))                        \
  X(DeviceGetDefaultApplicationsClock, (Device, int, unsigned*))                 \
  X(DeviceGetCurrentClocksEventReasons, (Device, unsigned long long*))           \
  X(DeviceGetCurrentClocksThrottleReasons, (Device, unsigned long long*))        \
  X(DeviceGetCurrPcieLinkGeneration, (Device, unsigned*))                        \
  X(DeviceGetCurrPcieLinkWidth, (Device, unsigned*))                             \
  X(DeviceGetMaxPcieLinkGeneration, (Device, unsigned*))                         \
  X(DeviceGetMaxPcieLinkWidth, (Device, unsigned*))                              \
  X(DeviceGetGpuMaxPcieLinkGeneration, (Device, unsigned*))                      \
  X(DeviceGetPcieReplayCounter, (Device, unsigned*))                             \
  X(DeviceGetEccMode, (Device, unsigned*, unsigned*))                            \
  X(DeviceGetTotalEccErrors, (Device, int, int, unsigned long long*))            \
  X(DeviceGetRemappedRows, (Device, unsigned*, unsigned*, unsigned*, unsigned*)) \
  X(DeviceGetRetiredPages, (Device, int, unsigned*, unsigned long long*))        \
  X(DeviceGetRetiredPagesPendingStatus, (Device, unsigned*))                     \
  X(DeviceGetNvLinkState, (Device, unsigned, unsigned*))                         \
  X(DeviceGetNvLinkErrorCounter, (Device, unsigned, int, unsigned long long*))   \
  X(DeviceGetGpuFabricInfo, (Device, FabricInfoV1*))                             \
  X(DeviceGetGpuFabricInfoV, (Device, FabricInfo*))                              \
  X(DeviceGetMigMode, (Device, unsigned*, unsigned*))                            \
  X(DeviceGetSupportedEventTypes, (Device, unsigned long long*))                 \
  X(DeviceRegisterEvents, (Device, unsigned long long, EventSet))                \
  X(EventSetCreate, (EventSet*))                                                 \
  X(EventSetFree, (EventSet))                                                    \
  X(EventSetWait_v2, (EventSet, EventData*, unsigned))                           \
  X(DeviceGetComputeMode, (Device, int*))                                        \
  X(DeviceGetComputeRunningProcesses, (Device, unsigned*, ProcessInfoV1*))       \
  X(DeviceGetComputeRunningProcesses_v2, (Device, unsigned*, ProcessInfo*))      \
  X(DeviceGetComputeRunningProcesses_v3, (Device, unsigned*, ProcessInfo*))      \
  X(DeviceGetGraphicsRunningProcesses, (Device, unsigned*, ProcessInfoV1*))      \
  X(DeviceGetGraphicsRunningProcesses_v2, (Device, unsigned*, ProcessInfo*))     \
  X(DeviceGetGraphicsRunningProcesses_v3, (Device, unsigned*, ProcessInfo*))

// For Nvml::Call<nvml::DeviceGetName>(…).
#define MUSTER_NVML_FUNCTION(function, parameters)    \
  struct function {                                   \
    static constexpr char kName[] = "nvml" #function; \
    using Entry = int(*) parameters;                  \
  };
MUSTER_NVML_FUNCTIONS(MUSTER_NVML_FUNCTION)
#undef MUSTER_NVML_FUNCTION

}  // namespace muster::burnin::nvml
