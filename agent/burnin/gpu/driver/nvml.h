// NVIDIA's management library, bound at run time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/gpu/driver/dynamic_library.h"
#include "agent/burnin/gpu/driver/nvml_abi.h"

namespace muster::burnin {

inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

// Errors: Unimplemented if library or GPU do not report a value, so that nobody takes it for 0;
// DataLoss if the GPU is lost or must be reset; PermissionDenied; otherwise Internal. Every call
// may block for ever on a sick GPU. Thread-safe.
class Nvml {
 public:
  // Loads and initialises. NotFound: no such library; FailedPrecondition: no driver, or one of
  // another version.
  static absl::StatusOr<std::unique_ptr<Nvml>> Load(const std::string& library = kNvmlLibrary);

  absl::StatusOr<std::string> DriverVersion() const;
  absl::StatusOr<unsigned> DeviceCount() const;
  absl::StatusOr<nvml::Device> DeviceAt(unsigned index) const;

  // Calls `function` by its name; Unimplemented if it is missing.
  template <typename... Arguments>
  absl::Status Call(const char* function, Arguments... arguments) const {
    const auto entry = reinterpret_cast<int (*)(Arguments...)>(library_.Find(function));
    if (entry == nullptr) return library_.Lacks(function);
    return ToStatus(entry(arguments...), function);
  }

 private:
  explicit Nvml(DynamicLibrary library) : library_(std::move(library)) {}
  absl::Status ToStatus(int code, const char* function) const;

  DynamicLibrary library_;
};

// One NVML GPU. Copyable; the Nvml must outlive it.
class NvmlDevice {
 public:
  NvmlDevice(const Nvml& nvml, nvml::Device handle) : nvml_(&nvml), handle_(handle) {}

  absl::StatusOr<std::string> Uuid() const { return Text("nvmlDeviceGetUUID"); }
  absl::StatusOr<std::string> Name() const { return Text("nvmlDeviceGetName"); }
  absl::StatusOr<std::string> Serial() const { return Text("nvmlDeviceGetSerial"); }
  absl::StatusOr<std::string> Vbios() const { return Text("nvmlDeviceGetVbiosVersion"); }
  // In the kernel's notation: "0000:3b:00.0".
  absl::StatusOr<std::string> PciAddress() const;
  absl::StatusOr<nvml::Memory> MemoryBytes() const;
  absl::StatusOr<bool> Persistence() const;
  // Over the driver's last sampling period, of a sixth of a second to a second.
  absl::StatusOr<nvml::Utilization> Utilization() const;

  absl::StatusOr<double> TemperatureCelsius() const;
  // Unimplemented if the model only knows its margin.
  absl::StatusOr<double> ThresholdCelsius(nvml::TemperatureThreshold threshold) const;
  absl::StatusOr<double> PowerWatts() const;
  absl::StatusOr<double> PowerLimitWatts() const;  // in force
  absl::StatusOr<double> ClockMhz(nvml::ClockType type) const;
  absl::StatusOr<double> MaxClockMhz(nvml::ClockType type) const;
  // For kClockGraphics and kClockMemory. Unimplemented: the model has none, like consumer cards.
  absl::StatusOr<double> ApplicationClockMhz(nvml::ClockType type) const;
  absl::StatusOr<double> DefaultApplicationClockMhz(nvml::ClockType type) const;
  absl::StatusOr<unsigned long long> ClockReasons() const;  // bits of nvml::ClockReason

  absl::StatusOr<unsigned> PcieGeneration() const {
    return Value("nvmlDeviceGetCurrPcieLinkGeneration");
  }
  absl::StatusOr<unsigned> PcieWidth() const { return Value("nvmlDeviceGetCurrPcieLinkWidth"); }
  // The maximum of card and slot together.
  absl::StatusOr<unsigned> MaxPcieGeneration() const {
    return Value("nvmlDeviceGetMaxPcieLinkGeneration");
  }
  absl::StatusOr<unsigned> MaxPcieWidth() const { return Value("nvmlDeviceGetMaxPcieLinkWidth"); }
  // The maximum of the card alone.
  absl::StatusOr<unsigned> CardMaxPcieGeneration() const {
    return Value("nvmlDeviceGetGpuMaxPcieLinkGeneration");
  }
  absl::StatusOr<unsigned> PcieReplays() const { return Value("nvmlDeviceGetPcieReplayCounter"); }

  struct EccMode {
    bool current = false, pending = false;
  };
  absl::StatusOr<EccMode> Ecc() const;
  absl::StatusOr<unsigned long long> EccErrors(nvml::MemoryErrorType type,
                                               nvml::EccCounter counter) const;
  struct RemappedRows {
    unsigned corrected = 0, uncorrected = 0;
    bool pending = false, failed = false;
  };
  absl::StatusOr<RemappedRows> Remapped() const;
  absl::StatusOr<unsigned> RetiredPages(nvml::RetirementCause cause) const;
  absl::StatusOr<bool> RetirementPending() const;

  // Unimplemented for link 0: the GPU has no links.
  absl::StatusOr<bool> LinkUp(unsigned link) const;
  absl::StatusOr<unsigned long long> LinkErrors(unsigned link,
                                                nvml::LinkErrorCounter counter) const;
  absl::StatusOr<nvml::FabricInfo> Fabric() const;
  absl::StatusOr<std::vector<nvml::ProcessInfo>> ComputeProcesses() const {
    return Processes("nvmlDeviceGetComputeRunningProcesses_v3");
  }
  // Displays and programs that draw on them; may include the processes above again.
  absl::StatusOr<std::vector<nvml::ProcessInfo>> GraphicsProcesses() const {
    return Processes("nvmlDeviceGetGraphicsRunningProcesses_v3");
  }

 private:
  absl::StatusOr<std::string> Text(const char* function) const;
  absl::StatusOr<unsigned> Value(const char* function) const;
  absl::StatusOr<std::vector<nvml::ProcessInfo>> Processes(const char* function) const;

  const Nvml* nvml_;
  nvml::Device handle_;
};

}  // namespace muster::burnin
