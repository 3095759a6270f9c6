#include <algorithm>

#include "absl/strings/ascii.h"
#include "agent/burnin/gpu/driver/nvml.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr double kMilli = 1e-3;
constexpr int kGpuSensor = 0;               // NVML_TEMPERATURE_GPU
constexpr unsigned kMaxRetiredPages = 512;  // no board can retire that many
constexpr size_t kMaxProcesses = 256;

}  // namespace

absl::StatusOr<std::string> NvmlDevice::Text(const char* function) const {
  char text[nvml::kTextSize] = "";
  RETURN_IF_ERROR(nvml_->Call(function, handle_, static_cast<char*>(text), nvml::kTextSize));
  return std::string(text);
}

absl::StatusOr<unsigned> NvmlDevice::Value(const char* function) const {
  unsigned value = 0;
  RETURN_IF_ERROR(nvml_->Call(function, handle_, &value));
  return value;
}

absl::StatusOr<std::string> NvmlDevice::PciAddress() const {
  nvml::PciInfo info = {};
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetPciInfo_v3", handle_, &info));
  // NVML writes the domain with eight digits ("00000000:3B:00.0"), the kernel with four.
  const std::string address = absl::AsciiStrToLower(info.bus_id);
  return address.size() == 16 ? address.substr(4) : address;
}

absl::StatusOr<nvml::Memory> NvmlDevice::MemoryBytes() const {
  nvml::Memory memory = {};
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetMemoryInfo", handle_, &memory));
  return memory;
}

absl::StatusOr<bool> NvmlDevice::Persistence() const {
  ASSIGN_OR_RETURN(const unsigned mode, Value("nvmlDeviceGetPersistenceMode"));
  return mode != 0;
}

absl::StatusOr<nvml::Utilization> NvmlDevice::Utilization() const {
  nvml::Utilization use = {};
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetUtilizationRates", handle_, &use));
  return use;
}

absl::StatusOr<double> NvmlDevice::TemperatureCelsius() const {
  unsigned celsius = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetTemperature", handle_, kGpuSensor, &celsius));
  return celsius;
}

absl::StatusOr<double> NvmlDevice::ThresholdCelsius(nvml::TemperatureThreshold threshold) const {
  unsigned celsius = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetTemperatureThreshold", handle_,
                              static_cast<int>(threshold), &celsius));
  return celsius;
}

absl::StatusOr<double> NvmlDevice::PowerWatts() const {
  ASSIGN_OR_RETURN(const unsigned milliwatts, Value("nvmlDeviceGetPowerUsage"));
  return milliwatts * kMilli;
}

absl::StatusOr<double> NvmlDevice::PowerLimitWatts() const {
  ASSIGN_OR_RETURN(const unsigned milliwatts, Value("nvmlDeviceGetEnforcedPowerLimit"));
  return milliwatts * kMilli;
}

absl::StatusOr<double> NvmlDevice::ClockMhz(nvml::ClockType type) const {
  unsigned mhz = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetClockInfo", handle_, static_cast<int>(type), &mhz));
  return mhz;
}

absl::StatusOr<double> NvmlDevice::MaxClockMhz(nvml::ClockType type) const {
  unsigned mhz = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetMaxClockInfo", handle_, static_cast<int>(type), &mhz));
  return mhz;
}

absl::StatusOr<double> NvmlDevice::ApplicationClockMhz(nvml::ClockType type) const {
  unsigned mhz = 0;
  RETURN_IF_ERROR(
      nvml_->Call("nvmlDeviceGetApplicationsClock", handle_, static_cast<int>(type), &mhz));
  return mhz;
}

absl::StatusOr<double> NvmlDevice::DefaultApplicationClockMhz(nvml::ClockType type) const {
  unsigned mhz = 0;
  RETURN_IF_ERROR(
      nvml_->Call("nvmlDeviceGetDefaultApplicationsClock", handle_, static_cast<int>(type), &mhz));
  return mhz;
}

absl::StatusOr<unsigned long long> NvmlDevice::ClockReasons() const {
  unsigned long long reasons = 0;
  // The first name came with driver 535; the second is the same function under its old name.
  absl::Status status = nvml_->Call("nvmlDeviceGetCurrentClocksEventReasons", handle_, &reasons);
  if (absl::IsUnimplemented(status))
    status = nvml_->Call("nvmlDeviceGetCurrentClocksThrottleReasons", handle_, &reasons);
  RETURN_IF_ERROR(status);
  return reasons;
}

absl::StatusOr<NvmlDevice::EccMode> NvmlDevice::Ecc() const {
  unsigned current = 0, pending = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetEccMode", handle_, &current, &pending));
  return EccMode{.current = current != 0, .pending = pending != 0};
}

absl::StatusOr<unsigned long long> NvmlDevice::EccErrors(nvml::MemoryErrorType type,
                                                         nvml::EccCounter counter) const {
  unsigned long long count = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetTotalEccErrors", handle_, static_cast<int>(type),
                              static_cast<int>(counter), &count));
  return count;
}

absl::StatusOr<NvmlDevice::RemappedRows> NvmlDevice::Remapped() const {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetRemappedRows", handle_, &corrected, &uncorrected,
                              &pending, &failed));
  return RemappedRows{corrected, uncorrected, pending != 0, failed != 0};
}

absl::StatusOr<unsigned> NvmlDevice::RetiredPages(nvml::RetirementCause cause) const {
  std::vector<unsigned long long> addresses(kMaxRetiredPages);
  unsigned count = kMaxRetiredPages;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetRetiredPages", handle_, static_cast<int>(cause), &count,
                              addresses.data()));
  return count;
}

absl::StatusOr<bool> NvmlDevice::RetirementPending() const {
  ASSIGN_OR_RETURN(const unsigned pending, Value("nvmlDeviceGetRetiredPagesPendingStatus"));
  return pending != 0;
}

absl::StatusOr<bool> NvmlDevice::LinkUp(unsigned link) const {
  unsigned up = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetNvLinkState", handle_, link, &up));
  return up != 0;
}

absl::StatusOr<unsigned long long> NvmlDevice::LinkErrors(unsigned link,
                                                          nvml::LinkErrorCounter counter) const {
  unsigned long long count = 0;
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetNvLinkErrorCounter", handle_, link,
                              static_cast<int>(counter), &count));
  return count;
}

absl::StatusOr<nvml::FabricInfo> NvmlDevice::Fabric() const {
  nvml::FabricInfo info = {.version = nvml::kFabricInfoVersion};
  RETURN_IF_ERROR(nvml_->Call("nvmlDeviceGetGpuFabricInfoV", handle_, &info));
  return info;
}

absl::StatusOr<std::vector<nvml::ProcessInfo>> NvmlDevice::Processes(const char* function) const {
  std::vector<nvml::ProcessInfo> processes(kMaxProcesses);
  unsigned count = kMaxProcesses;
  RETURN_IF_ERROR(nvml_->Call(function, handle_, &count, processes.data()));
  processes.resize(std::min<size_t>(count, kMaxProcesses));
  return processes;
}

}  // namespace muster::burnin
