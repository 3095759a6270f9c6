// The part of NVML's binary interface that is used here: types and numbers of its API reference,
// stable since the _v2 and _v3 names were introduced.
#pragma once

#include <cstdint>

namespace muster::burnin::nvml {

using Device = void*;

enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kDriverNotLoaded = 9,
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
inline constexpr unsigned kMaxLinks = 18;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {
  unsigned long long total, free, used;
};

struct Utilization {
  unsigned gpu, memory;  // percent
};

// Used by nvmlDeviceGetComputeRunningProcesses_v3 and nvmlDeviceGetGraphicsRunningProcesses_v3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id, compute_instance_id;
};
static_assert(sizeof(ProcessInfo) == 24);

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

enum TemperatureThreshold : int { kThresholdSlowdown = 1, kThresholdGpuMax = 3 };
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

}  // namespace muster::burnin::nvml
