#include "agent/facts/nvml.h"

#include <dlfcn.h>

#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// NVML's ABI as its API reference states it; stable since the _v2/_v3 names were introduced.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kTextSize = 96;  // at least NVML_DEVICE_UUID_V2_BUFFER_SIZE and the others
struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

class Library {
 public:
  static absl::StatusOr<Library> Load(const std::string& name) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = dlerror();
      return absl::NotFoundError(why != nullptr ? why : name);
    }
    return Library(handle);
  }
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  template <typename... Arguments>
  absl::Status Call(const char* function, Arguments... arguments) const {
    const auto entry = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle_, function));
    if (entry == nullptr) return absl::UnimplementedError(absl::StrCat("NVML has no ", function));
    const int code = entry(arguments...);
    if (code == kSuccess) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(function, ": ", ErrorText(code)));
  }

  // A text that the device may decline to report.
  std::string Text(const char* function, Device device) const {
    char text[kTextSize] = "";
    return Call(function, device, static_cast<char*>(text), kTextSize).ok() ? text : "";
  }

 private:
  explicit Library(void* handle) : handle_(handle) {}

  std::string ErrorText(int code) const {
    const auto entry = reinterpret_cast<const char* (*)(int)>(dlsym(handle_, "nvmlErrorString"));
    return entry != nullptr ? entry(code) : absl::StrCat("error ", code);
  }

  void* handle_;
};

absl::StatusOr<NvmlDevice> QueryDevice(const Library& nvml, unsigned index) {
  Device handle = nullptr;
  RETURN_IF_ERROR(nvml.Call("nvmlDeviceGetHandleByIndex_v2", index, &handle));
  NvmlDevice device;
  device.index = index;
  device.uuid = nvml.Text("nvmlDeviceGetUUID", handle);
  device.name = nvml.Text("nvmlDeviceGetName", handle);
  device.serial = nvml.Text("nvmlDeviceGetSerial", handle);
  device.vbios_version = nvml.Text("nvmlDeviceGetVbiosVersion", handle);
  Memory memory{};
  if (nvml.Call("nvmlDeviceGetMemoryInfo", handle, &memory).ok())
    device.memory_bytes = memory.total;
  PciInfo pci{};
  if (nvml.Call("nvmlDeviceGetPciInfo_v3", handle, &pci).ok()) {
    // NVML writes the domain with eight digits ("00000000:3B:00.0"), the kernel with four.
    std::string address = absl::AsciiStrToLower(pci.bus_id);
    device.pci_address = address.size() == 16 ? address.substr(4) : address;
  }
  unsigned milliwatts = 0;
  if (nvml.Call("nvmlDeviceGetEnforcedPowerLimit", handle, &milliwatts).ok())
    device.power_limit_watts = milliwatts * 1e-3;
  unsigned minor = 0;
  if (nvml.Call("nvmlDeviceGetMinorNumber", handle, &minor).ok())
    device.minor_number = static_cast<int>(minor);
  return device;
}

absl::StatusOr<NvmlReport> Query(const Library& nvml) {
  NvmlReport report;
  char version[kTextSize] = "";
  RETURN_IF_ERROR(nvml.Call("nvmlSystemGetDriverVersion", static_cast<char*>(version), kTextSize));
  report.driver_version = version;
  unsigned count = 0;
  RETURN_IF_ERROR(nvml.Call("nvmlDeviceGetCount_v2", &count));
  for (unsigned i = 0; i < count; ++i) {
    absl::StatusOr<NvmlDevice> device = QueryDevice(nvml, i);
    if (device.ok()) {
      report.devices.push_back(*std::move(device));
    } else {
      report.lost.emplace(i, device.status().message());
    }
  }
  if (report.devices.empty() && !report.lost.empty())
    return absl::InternalError(report.lost.begin()->second);
  return report;
}

}  // namespace

absl::StatusOr<NvmlReport> QueryNvml(const std::string& library) {
  ASSIGN_OR_RETURN(const Library nvml, Library::Load(library));
  RETURN_IF_ERROR(nvml.Call("nvmlInit_v2"));
  absl::StatusOr<NvmlReport> report = Query(nvml);
  (void)nvml.Call("nvmlShutdown");
  return report;
}

}  // namespace muster::agent
