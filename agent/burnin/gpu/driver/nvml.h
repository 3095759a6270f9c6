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

  // Calls a function of MUSTER_NVML_FUNCTIONS; Unimplemented if the library lacks it.
  template <typename Function, typename... Arguments>
  absl::Status Call(Arguments... arguments) const {
    if (library_.Find(Function::kName) == nullptr) return library_.Lacks(Function::kName);
    return ToStatus(Ask<Function>(arguments...), Function::kName);
  }
  // The same for a caller that must tell a library without the function, which is
  // kFunctionNotFound, from a GPU without the value, which is kNotSupported.
  template <typename Function, typename... Arguments>
  int Ask(Arguments... arguments) const {
    const auto entry = reinterpret_cast<typename Function::Entry>(library_.Find(Function::kName));
    return entry != nullptr ? entry(arguments...) : nvml::kFunctionNotFound;
  }
  absl::Status ToStatus(int code, const char* function) const;

 private:
  explicit Nvml(DynamicLibrary library) : library_(std::move(library)) {}

  DynamicLibrary library_;
};

// One NVML GPU. Copyable; the Nvml must outlive it.
class NvmlDevice {
 public:
  NvmlDevice(const Nvml& nvml, nvml::Device handle) : nvml_(&nvml), handle_(handle) {}

  absl::StatusOr<std::string> Uuid() const { return Text<nvml::DeviceGetUUID>(); }
  absl::StatusOr<std::string> Name() const { return Text<nvml::DeviceGetName>(); }
  absl::StatusOr<std::string> Serial() const { return Text<nvml::DeviceGetSerial>(); }
  absl::StatusOr<std::string> Vbios() const { return Text<nvml::DeviceGetVbiosVersion>(); }
  // In the kernel's notation: "0000:3b:00.0".
  absl::StatusOr<std::string> PciAddress() const;
  absl::StatusOr<nvml::Memory> MemoryBytes() const;
  absl::StatusOr<bool> Persistence() const;
  // Over the driver's last sampling period, of a sixth of a second to a second.
  absl::StatusOr<nvml::Utilization> Utilization() const;

  absl::StatusOr<double> TemperatureCelsius() const;
  // Unimplemented if the model only knows its margin.
  absl::StatusOr<double> ThresholdCelsius(nvml::TemperatureThreshold threshold) const;
  // Of the memory's own sensor, which HBM and some GDDR6 have.
  absl::StatusOr<double> MemoryTemperatureCelsius() const;
  // By how many degrees the GPU is below the temperature at which it slows itself down; negative
  // when above. Ada and later.
  absl::StatusOr<double> MarginCelsius() const;
  // The margin below which the GPU may run slower than its base clock: its highest operating
  // temperature in that scale.
  absl::StatusOr<double> LeastMarginCelsius() const;
  absl::StatusOr<double> PowerWatts() const;
  absl::StatusOr<double> PowerLimitWatts() const;  // in force
  absl::StatusOr<double> ClockMhz(nvml::ClockType type) const;
  absl::StatusOr<double> MaxClockMhz(nvml::ClockType type) const;
  // For kClockGraphics and kClockMemory. Unimplemented: the model has none, like consumer cards.
  absl::StatusOr<double> ApplicationClockMhz(nvml::ClockType type) const;
  absl::StatusOr<double> DefaultApplicationClockMhz(nvml::ClockType type) const;
  absl::StatusOr<unsigned long long> ClockReasons() const;  // bits of nvml::ClockReason

  absl::StatusOr<unsigned> PcieGeneration() const {
    return Value<nvml::DeviceGetCurrPcieLinkGeneration>();
  }
  absl::StatusOr<unsigned> PcieWidth() const { return Value<nvml::DeviceGetCurrPcieLinkWidth>(); }
  // The maximum of card and slot together.
  absl::StatusOr<unsigned> MaxPcieGeneration() const {
    return Value<nvml::DeviceGetMaxPcieLinkGeneration>();
  }
  absl::StatusOr<unsigned> MaxPcieWidth() const { return Value<nvml::DeviceGetMaxPcieLinkWidth>(); }
  // The maximum of the card alone.
  absl::StatusOr<unsigned> CardMaxPcieGeneration() const {
    return Value<nvml::DeviceGetGpuMaxPcieLinkGeneration>();
  }
  absl::StatusOr<unsigned> PcieReplays() const { return Value<nvml::DeviceGetPcieReplayCounter>(); }

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
  // Its health_mask is 0, which reports nothing, with drivers before 550.
  absl::StatusOr<nvml::FabricInfo> Fabric() const;

  struct MigMode {
    bool current = false, pending = false;
  };
  absl::StatusOr<MigMode> Mig() const;
  absl::StatusOr<nvml::ComputeMode> ComputeMode() const;

  struct Process {
    unsigned pid = 0;
    unsigned long long memory_bytes = 0;  // the largest number: not reported
  };
  // By whichever of the calls the driver has. Unimplemented: the GPU does not report processes.
  // FailedPrecondition: this driver cannot tell. Internal: what it reported cannot be right.
  absl::StatusOr<std::vector<Process>> ComputeProcesses() const;
  // Displays and programs that draw on them; may include the processes above again.
  absl::StatusOr<std::vector<Process>> GraphicsProcesses() const;

 private:
  template <typename Function>
  absl::StatusOr<std::string> Text() const {
    char text[nvml::kTextSize] = "";
    const absl::Status status =
        nvml_->Call<Function>(handle_, static_cast<char*>(text), nvml::kTextSize);
    return status.ok() ? absl::StatusOr<std::string>(text) : status;
  }
  template <typename Function>
  absl::StatusOr<unsigned> Value() const {
    unsigned value = 0;
    const absl::Status status = nvml_->Call<Function>(handle_, &value);
    return status.ok() ? absl::StatusOr<unsigned>(value) : status;
  }
  absl::StatusOr<double> FieldCelsius(nvml::Field field) const;
  template <typename V3, typename V2, typename V1>
  absl::StatusOr<std::vector<Process>> Processes() const;

  const Nvml* nvml_;
  nvml::Device handle_;
};

// "exclusive process"; its number for a mode that is not known.
std::string ComputeModeName(nvml::ComputeMode mode);

}  // namespace muster::burnin
