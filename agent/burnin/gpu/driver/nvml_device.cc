#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/gpu/driver/nvml.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr double kMilli = 1e-3;
constexpr int kGpuSensor = 0;               // NVML_TEMPERATURE_GPU
constexpr unsigned kMaxRetiredPages = 512;  // no board can retire that many
constexpr size_t kMaxProcesses = 256;
// The kernel's own bound of a process id (include/linux/threads.h, PID_MAX_LIMIT). A larger one is
// a number from the middle of an entry.
constexpr unsigned kMaxPid = 4u << 20;

// True for the drivers whose _v3 writes WideProcessInfo: 535.43.02 to 535.86.10. NVIDIA's own
// nvidia-settings used _v3 with that layout in 535.43.02, _v2 in 535.98, and _v3 with the old
// layout from 535.104.05 on. Their _v2 is right.
bool WritesWideProcesses(absl::string_view driver_version) {
  const std::vector<absl::string_view> parts = absl::StrSplit(driver_version, '.');
  int major = 0, minor = 0;
  return parts.size() >= 2 && absl::SimpleAtoi(parts[0], &major) &&
         absl::SimpleAtoi(parts[1], &minor) && major == 535 && minor >= 43 && minor < 98;
}

// Asks by one generation of the call. nullopt: the library does not have it.
template <typename Function, typename Entry>
std::optional<absl::StatusOr<std::vector<NvmlDevice::Process>>> AskProcesses(const Nvml& nvml,
                                                                             nvml::Device device) {
  // Room for the widest layout, whichever the library writes.
  std::vector<nvml::WideProcessInfo> room(kMaxProcesses);
  unsigned count = kMaxProcesses;
  const int code = nvml.Ask<Function>(device, &count, reinterpret_cast<Entry*>(room.data()));
  if (code == nvml::kFunctionNotFound) return std::nullopt;
  if (code != nvml::kSuccess) return nvml.ToStatus(code, Function::kName);
  std::vector<NvmlDevice::Process> processes;
  for (size_t i = 0; i < std::min<size_t>(count, kMaxProcesses); ++i) {
    Entry entry;
    std::memcpy(&entry, reinterpret_cast<const char*>(room.data()) + i * sizeof(Entry),
                sizeof(Entry));
    if (entry.pid > kMaxPid)
      return absl::InternalError(absl::StrCat(Function::kName,
                                              " reports the impossible process id ", entry.pid,
                                              ": the driver's entries have another layout"));
    processes.push_back({.pid = entry.pid, .memory_bytes = entry.used_gpu_memory});
  }
  return processes;
}

struct ComputeModeRow {
  nvml::ComputeMode mode;
  const char* name;
};
constexpr ComputeModeRow kComputeModes[] = {
    {nvml::kComputeDefault, "default"},
    {nvml::kComputeExclusiveThread, "exclusive thread"},
    {nvml::kComputeProhibited, "prohibited"},
    {nvml::kComputeExclusiveProcess, "exclusive process"},
};

absl::StatusOr<double> ToDouble(const nvml::FieldValue& field) {
  switch (field.value_type) {
    case nvml::kValueDouble:
      return field.value.as_double;
    case nvml::kValueUnsigned:
      return field.value.as_unsigned;
    case nvml::kValueSigned:
      return field.value.as_signed;
    case nvml::kValueUnsignedLong:
    case nvml::kValueUnsignedLongLong:
      return static_cast<double>(field.value.as_long);
    case nvml::kValueSignedLongLong:
      return static_cast<double>(static_cast<long long>(field.value.as_long));
    default:
      return absl::InternalError(absl::StrCat("nvmlDeviceGetFieldValues: field ", field.field_id,
                                              " has the unknown type ", field.value_type));
  }
}

}  // namespace

absl::StatusOr<std::string> NvmlDevice::PciAddress() const {
  nvml::PciInfo info = {};
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetPciInfo_v3>(handle_, &info));
  // NVML writes the domain with eight digits ("00000000:3B:00.0"), the kernel with four.
  const std::string address = absl::AsciiStrToLower(info.bus_id);
  return address.size() == 16 ? address.substr(4) : address;
}

absl::StatusOr<nvml::Memory> NvmlDevice::MemoryBytes() const {
  nvml::MemoryV2 now = {.version = nvml::kMemoryVersion};
  const absl::Status status = nvml_->Call<nvml::DeviceGetMemoryInfo_v2>(handle_, &now);
  if (status.ok()) return nvml::Memory{.total = now.total, .free = now.free, .used = now.used};
  if (!absl::IsUnimplemented(status)) return status;
  // Before driver 510. It counts some hundred MiB as used that the driver keeps for itself.
  nvml::Memory memory = {};
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetMemoryInfo>(handle_, &memory));
  return memory;
}

absl::StatusOr<bool> NvmlDevice::Persistence() const {
  ASSIGN_OR_RETURN(const unsigned mode, Value<nvml::DeviceGetPersistenceMode>());
  return mode != 0;
}

absl::StatusOr<nvml::Utilization> NvmlDevice::Utilization() const {
  nvml::Utilization use = {};
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetUtilizationRates>(handle_, &use));
  return use;
}

absl::StatusOr<double> NvmlDevice::TemperatureCelsius() const {
  unsigned celsius = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetTemperature>(handle_, kGpuSensor, &celsius));
  return celsius;
}

absl::StatusOr<double> NvmlDevice::ThresholdCelsius(nvml::TemperatureThreshold threshold) const {
  unsigned celsius = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetTemperatureThreshold>(
      handle_, static_cast<int>(threshold), &celsius));
  return celsius;
}

absl::StatusOr<double> NvmlDevice::FieldCelsius(nvml::Field field) const {
  nvml::FieldValue value = {};
  value.field_id = field;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetFieldValues>(handle_, 1, &value));
  // A driver that does not know the field calls it an invalid argument.
  if (value.result == nvml::kInvalidArgument) value.result = nvml::kNotSupported;
  RETURN_IF_ERROR(nvml_->ToStatus(value.result, "nvmlDeviceGetFieldValues"));
  return ToDouble(value);
}

absl::StatusOr<double> NvmlDevice::MemoryTemperatureCelsius() const {
  ASSIGN_OR_RETURN(const double celsius, FieldCelsius(nvml::kFieldMemoryTemperature));
  // Boards without the sensor report 0.
  if (celsius <= 0) return absl::UnimplementedError("the memory has no temperature sensor");
  return celsius;
}

absl::StatusOr<double> NvmlDevice::MarginCelsius() const {
  nvml::MarginTemperature margin = {.version = nvml::kMarginTemperatureVersion};
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetMarginTemperature>(handle_, &margin));
  return margin.celsius;
}

absl::StatusOr<double> NvmlDevice::LeastMarginCelsius() const {
  return FieldCelsius(nvml::kFieldGpuMaxMargin);
}

absl::StatusOr<double> NvmlDevice::PowerWatts() const {
  ASSIGN_OR_RETURN(const unsigned milliwatts, Value<nvml::DeviceGetPowerUsage>());
  return milliwatts * kMilli;
}

absl::StatusOr<double> NvmlDevice::PowerLimitWatts() const {
  ASSIGN_OR_RETURN(const unsigned milliwatts, Value<nvml::DeviceGetEnforcedPowerLimit>());
  return milliwatts * kMilli;
}

absl::StatusOr<double> NvmlDevice::ClockMhz(nvml::ClockType type) const {
  unsigned mhz = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetClockInfo>(handle_, static_cast<int>(type), &mhz));
  return mhz;
}

absl::StatusOr<double> NvmlDevice::MaxClockMhz(nvml::ClockType type) const {
  unsigned mhz = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetMaxClockInfo>(handle_, static_cast<int>(type), &mhz));
  return mhz;
}

absl::StatusOr<double> NvmlDevice::ApplicationClockMhz(nvml::ClockType type) const {
  unsigned mhz = 0;
  RETURN_IF_ERROR(
      nvml_->Call<nvml::DeviceGetApplicationsClock>(handle_, static_cast<int>(type), &mhz));
  return mhz;
}

absl::StatusOr<double> NvmlDevice::DefaultApplicationClockMhz(nvml::ClockType type) const {
  unsigned mhz = 0;
  RETURN_IF_ERROR(
      nvml_->Call<nvml::DeviceGetDefaultApplicationsClock>(handle_, static_cast<int>(type), &mhz));
  return mhz;
}

absl::StatusOr<unsigned long long> NvmlDevice::ClockReasons() const {
  unsigned long long reasons = 0;
  // The first name came with driver 535; the second is the same function under its old name.
  absl::Status status = nvml_->Call<nvml::DeviceGetCurrentClocksEventReasons>(handle_, &reasons);
  if (absl::IsUnimplemented(status))
    status = nvml_->Call<nvml::DeviceGetCurrentClocksThrottleReasons>(handle_, &reasons);
  RETURN_IF_ERROR(status);
  return reasons;
}

absl::StatusOr<NvmlDevice::EccMode> NvmlDevice::Ecc() const {
  unsigned current = 0, pending = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetEccMode>(handle_, &current, &pending));
  return EccMode{.current = current != 0, .pending = pending != 0};
}

absl::StatusOr<unsigned long long> NvmlDevice::EccErrors(nvml::MemoryErrorType type,
                                                         nvml::EccCounter counter) const {
  unsigned long long count = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetTotalEccErrors>(handle_, static_cast<int>(type),
                                                             static_cast<int>(counter), &count));
  return count;
}

absl::StatusOr<NvmlDevice::RemappedRows> NvmlDevice::Remapped() const {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetRemappedRows>(handle_, &corrected, &uncorrected,
                                                           &pending, &failed));
  return RemappedRows{corrected, uncorrected, pending != 0, failed != 0};
}

absl::StatusOr<unsigned> NvmlDevice::RetiredPages(nvml::RetirementCause cause) const {
  std::vector<unsigned long long> addresses(kMaxRetiredPages);
  unsigned count = kMaxRetiredPages;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetRetiredPages>(handle_, static_cast<int>(cause), &count,
                                                           addresses.data()));
  return count;
}

absl::StatusOr<bool> NvmlDevice::RetirementPending() const {
  ASSIGN_OR_RETURN(const unsigned pending, Value<nvml::DeviceGetRetiredPagesPendingStatus>());
  return pending != 0;
}

absl::StatusOr<bool> NvmlDevice::LinkUp(unsigned link) const {
  unsigned up = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetNvLinkState>(handle_, link, &up));
  return up != 0;
}

absl::StatusOr<unsigned long long> NvmlDevice::LinkErrors(unsigned link,
                                                          nvml::LinkErrorCounter counter) const {
  unsigned long long count = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetNvLinkErrorCounter>(
      handle_, link, static_cast<int>(counter), &count));
  return count;
}

absl::StatusOr<nvml::FabricInfo> NvmlDevice::Fabric() const {
  nvml::FabricInfo info = {.version = nvml::kFabricInfoVersion};
  const absl::Status status = nvml_->Call<nvml::DeviceGetGpuFabricInfoV>(handle_, &info);
  if (status.ok()) return info;
  if (!absl::IsUnimplemented(status)) return status;
  // Drivers 525 to 545 have this one alone; later ones answer both alike.
  nvml::FabricInfoV1 old = {};
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetGpuFabricInfo>(handle_, &old));
  info = {.status = old.status, .clique_id = old.clique_id, .state = old.state};
  std::copy(std::begin(old.cluster_uuid), std::end(old.cluster_uuid), info.cluster_uuid);
  return info;
}

absl::StatusOr<NvmlDevice::MigMode> NvmlDevice::Mig() const {
  unsigned current = 0, pending = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetMigMode>(handle_, &current, &pending));
  return MigMode{.current = current != 0, .pending = pending != 0};
}

absl::StatusOr<nvml::ComputeMode> NvmlDevice::ComputeMode() const {
  int mode = 0;
  RETURN_IF_ERROR(nvml_->Call<nvml::DeviceGetComputeMode>(handle_, &mode));
  return static_cast<nvml::ComputeMode>(mode);
}

template <typename V3, typename V2, typename V1>
absl::StatusOr<std::vector<NvmlDevice::Process>> NvmlDevice::Processes() const {
  ASSIGN_OR_RETURN(const std::string driver, nvml_->DriverVersion());
  if (!WritesWideProcesses(driver))
    if (auto processes = AskProcesses<V3, nvml::ProcessInfo>(*nvml_, handle_)) return *processes;
  if (auto processes = AskProcesses<V2, nvml::ProcessInfo>(*nvml_, handle_)) return *processes;
  if (auto processes = AskProcesses<V1, nvml::ProcessInfoV1>(*nvml_, handle_)) return *processes;
  return absl::FailedPreconditionError(
      absl::StrCat("driver ", driver, " has no usable ", V1::kName, ": update it"));
}

absl::StatusOr<std::vector<NvmlDevice::Process>> NvmlDevice::ComputeProcesses() const {
  return Processes<nvml::DeviceGetComputeRunningProcesses_v3,
                   nvml::DeviceGetComputeRunningProcesses_v2,
                   nvml::DeviceGetComputeRunningProcesses>();
}

absl::StatusOr<std::vector<NvmlDevice::Process>> NvmlDevice::GraphicsProcesses() const {
  return Processes<nvml::DeviceGetGraphicsRunningProcesses_v3,
                   nvml::DeviceGetGraphicsRunningProcesses_v2,
                   nvml::DeviceGetGraphicsRunningProcesses>();
}

std::string ComputeModeName(nvml::ComputeMode mode) {
  for (const ComputeModeRow& row : kComputeModes)
    if (row.mode == mode) return row.name;
  return absl::StrCat(static_cast<int>(mode));
}

}  // namespace muster::burnin
