// libnvidia-ml.so.1 of the fake.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "agent/burnin/gpu/driver/nvml_abi.h"
#include "tests/fakes/nvidia/world.h"

namespace muster::fake_nvidia {
namespace {

namespace nvml = burnin::nvml;

// The fake driver, when this process has loaded it.
Activity ActivityOf(int gpu) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  Activity activity;
  if (library == nullptr) return activity;
  const auto ask = reinterpret_cast<ActivityFunction>(dlsym(library, kActivityFunction));
  if (ask != nullptr) ask(gpu, &activity);
  return activity;
}

// One call about one GPU: hangs, losses and refusals as in the file, then `answer`.
template <typename Answer>
int Ask(const char* function, void* device, Answer answer) {
  const int index = static_cast<int>(reinterpret_cast<intptr_t>(device)) - 1;
  HangIfTold(function, index);
  const std::shared_ptr<const World> world = CurrentWorld();
  if (index < 0 || static_cast<size_t>(index) >= world->gpus.size()) return nvml::kInvalidArgument;
  const Gpu& gpu = world->gpus[index];
  const Activity activity = ActivityOf(index);
  if (gpu.lost_after_s == 0 ||
      (gpu.lost_after_s > 0 && activity.since_first_context_s >= gpu.lost_after_s))
    return nvml::kGpuIsLost;
  if (std::find(gpu.not_supported.begin(), gpu.not_supported.end(), function) !=
      gpu.not_supported.end())
    return nvml::kNotSupported;
  if (const auto error = gpu.answers.find(function); error != gpu.answers.end())
    return error->second;
  return answer(gpu, activity);
}

int Put(char* out, unsigned size, const std::string& text) {
  if (text.empty()) return nvml::kNotSupported;
  return std::snprintf(out, size, "%s", text.c_str()) < static_cast<int>(size)
             ? nvml::kSuccess
             : nvml::kInvalidArgument;
}

const Condition& Now(const Gpu& gpu, const Activity& activity) {
  return activity.busy ? gpu.busy : gpu.idle;
}

int AskText(const char* function, void* device, char* out, unsigned size,
            std::string Gpu::*member) {
  return Ask(function, device,
             [&](const Gpu& gpu, const Activity&) { return Put(out, size, gpu.*member); });
}

template <typename T, typename Read>
int AskValue(const char* function, void* device, T* out, Read read) {
  return Ask(function, device, [&](const Gpu& gpu, const Activity& activity) {
    *out = static_cast<T>(read(gpu, Now(gpu, activity)));
    return static_cast<int>(nvml::kSuccess);
  });
}

// A counter after the work of this process.
template <typename T>
T Grown(T before, T growth, const Activity& activity) {
  return activity.has_worked ? before + growth : before;
}

int System(const char* function) {
  HangIfTold(function, -1);
  return CurrentWorld()->nvml_init;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int nvmlInit_v2() { return System("nvmlInit_v2"); }
EXPORT int nvmlShutdown() { return nvml::kSuccess; }

EXPORT const char* nvmlErrorString(int code) {
  switch (code) {
    case nvml::kNotSupported:
      return "Not Supported";
    case nvml::kDriverNotLoaded:
      return "Driver Not Loaded";
    case nvml::kGpuIsLost:
      return "GPU is lost";
    case nvml::kLibraryMismatch:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

EXPORT int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return Put(out, size, CurrentWorld()->driver_version);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  HangIfTold("nvmlDeviceGetCount_v2", -1);
  *count = static_cast<unsigned>(CurrentWorld()->gpus.size());
  return nvml::kSuccess;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= CurrentWorld()->gpus.size()) return nvml::kInvalidArgument;
  *device = reinterpret_cast<void*>(static_cast<intptr_t>(index) + 1);
  return Ask("nvmlDeviceGetHandleByIndex_v2", *device,
             [](const Gpu&, const Activity&) { return static_cast<int>(nvml::kSuccess); });
}

EXPORT int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  return AskText("nvmlDeviceGetName", device, out, size, &Gpu::name);
}
EXPORT int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  return AskText("nvmlDeviceGetUUID", device, out, size, &Gpu::uuid);
}
EXPORT int nvmlDeviceGetSerial(void* device, char* out, unsigned size) {
  return AskText("nvmlDeviceGetSerial", device, out, size, &Gpu::serial);
}
EXPORT int nvmlDeviceGetVbiosVersion(void* device, char* out, unsigned size) {
  return AskText("nvmlDeviceGetVbiosVersion", device, out, size, &Gpu::vbios);
}

EXPORT int nvmlDeviceGetPciInfo_v3(void* device, void* out) {
  return Ask("nvmlDeviceGetPciInfo_v3", device, [&](const Gpu& gpu, const Activity&) {
    auto* info = new (out) nvml::PciInfo{};
    std::string address = gpu.pci_address;
    for (char& c : address) c = static_cast<char>(std::toupper(c));
    std::snprintf(info->bus_id, sizeof(info->bus_id), "0000%s", address.c_str());
    std::snprintf(info->bus_id_legacy, sizeof(info->bus_id_legacy), "%s", address.c_str());
    return static_cast<int>(nvml::kSuccess);
  });
}

EXPORT int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  *minor = static_cast<unsigned>(reinterpret_cast<intptr_t>(device)) - 1;
  return nvml::kSuccess;
}

// What the driver keeps for itself: as on an H100.
static constexpr unsigned long long kReservedBytes = 480 << 20;

static unsigned long long UsedByProcesses(const Gpu& gpu) {
  unsigned long long used = 0;
  for (const FakeProcess& process : gpu.processes) used += process.memory_bytes;
  return used;
}

// Counts the driver's own part as used.
EXPORT int nvmlDeviceGetMemoryInfo(void* device, nvml::Memory* memory) {
  return Ask("nvmlDeviceGetMemoryInfo", device, [&](const Gpu& gpu, const Activity&) {
    const unsigned long long used = UsedByProcesses(gpu) + kReservedBytes;
    *memory = {.total = gpu.memory_bytes, .free = gpu.memory_bytes - used, .used = used};
    return static_cast<int>(nvml::kSuccess);
  });
}
#ifndef MUSTER_FAKE_OLD_NVML
EXPORT int nvmlDeviceGetMemoryInfo_v2(void* device, nvml::MemoryV2* memory) {
  return Ask("nvmlDeviceGetMemoryInfo_v2", device, [&](const Gpu& gpu, const Activity&) -> int {
    if (memory->version != nvml::kMemoryVersion) return nvml::kArgumentVersionMismatch;
    const unsigned long long used = UsedByProcesses(gpu);
    *memory = {.version = nvml::kMemoryVersion,
               .total = gpu.memory_bytes,
               .reserved = kReservedBytes,
               .free = gpu.memory_bytes - kReservedBytes - used,
               .used = used};
    return nvml::kSuccess;
  });
}
#endif

EXPORT int nvmlDeviceGetUtilizationRates(void* device, nvml::Utilization* use) {
  return Ask("nvmlDeviceGetUtilizationRates", device, [&](const Gpu&, const Activity& now) {
    const unsigned percent = now.busy ? 100 : 0;
    *use = {.gpu = percent, .memory = percent};
    return static_cast<int>(nvml::kSuccess);
  });
}

EXPORT int nvmlDeviceGetPersistenceMode(void* device, unsigned* mode) {
  return AskValue("nvmlDeviceGetPersistenceMode", device, mode,
                  [](const Gpu& gpu, const Condition&) { return gpu.persistence; });
}
EXPORT int nvmlDeviceGetTemperature(void* device, int, unsigned* celsius) {
  return AskValue("nvmlDeviceGetTemperature", device, celsius,
                  [](const Gpu&, const Condition& now) { return now.temperature; });
}
EXPORT int nvmlDeviceGetTemperatureThreshold(void* device, int threshold, unsigned* celsius) {
  return Ask("nvmlDeviceGetTemperatureThreshold", device,
             [&](const Gpu& gpu, const Activity&) -> int {
               *celsius = threshold == nvml::kThresholdGpuMax      ? gpu.max_temperature
                          : threshold == nvml::kThresholdSlowdown  ? gpu.slowdown_temperature
                          : threshold == nvml::kThresholdMemoryMax ? gpu.memory_max_temperature
                                                                   : 0;
               return *celsius == 0 ? nvml::kNotSupported : nvml::kSuccess;
             });
}
EXPORT int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return AskValue("nvmlDeviceGetPowerUsage", device, milliwatts,
                  [](const Gpu&, const Condition& now) { return 1000 * now.power_watts; });
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  return AskValue("nvmlDeviceGetEnforcedPowerLimit", device, milliwatts,
                  [](const Gpu& gpu, const Condition&) { return 1000 * gpu.power_limit_watts; });
}
EXPORT int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  return AskValue("nvmlDeviceGetClockInfo", device, mhz,
                  [type](const Gpu& gpu, const Condition& now) {
                    return type == nvml::kClockMemory ? now.memory_clock_mhz : now.sm_clock_mhz;
                  });
}
EXPORT int nvmlDeviceGetMaxClockInfo(void* device, int type, unsigned* mhz) {
  return AskValue(
      "nvmlDeviceGetMaxClockInfo", device, mhz, [type](const Gpu& gpu, const Condition&) {
        return type == nvml::kClockMemory ? gpu.preset->memory_clock_mhz : gpu.preset->sm_clock_mhz;
      });
}
EXPORT int nvmlDeviceGetApplicationsClock(void* device, int type, unsigned* mhz) {
  return Ask("nvmlDeviceGetApplicationsClock", device, [&](const Gpu& gpu, const Activity&) -> int {
    if (!gpu.preset->data_centre) return nvml::kNotSupported;
    *mhz = type == nvml::kClockMemory ? gpu.preset->memory_clock_mhz : gpu.application_clock_mhz;
    return nvml::kSuccess;
  });
}
EXPORT int nvmlDeviceGetDefaultApplicationsClock(void* device, int type, unsigned* mhz) {
  return Ask(
      "nvmlDeviceGetDefaultApplicationsClock", device, [&](const Gpu& gpu, const Activity&) -> int {
        if (!gpu.preset->data_centre) return nvml::kNotSupported;
        *mhz = type == nvml::kClockMemory ? gpu.preset->memory_clock_mhz : gpu.preset->sm_clock_mhz;
        return nvml::kSuccess;
      });
}
// The name from before 535, which drivers of both ages have.
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return AskValue("nvmlDeviceGetCurrentClocksThrottleReasons", device, reasons,
                  [](const Gpu&, const Condition& now) { return now.clock_reasons; });
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* value) {
  return AskValue("nvmlDeviceGetCurrPcieLinkGeneration", device, value,
                  [](const Gpu&, const Condition& now) { return now.pcie_generation; });
}
EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* value) {
  return AskValue("nvmlDeviceGetCurrPcieLinkWidth", device, value,
                  [](const Gpu&, const Condition& now) { return now.pcie_width; });
}
EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* value) {
  return AskValue("nvmlDeviceGetMaxPcieLinkGeneration", device, value,
                  [](const Gpu& gpu, const Condition&) { return gpu.max_pcie_generation; });
}
EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* value) {
  return AskValue("nvmlDeviceGetMaxPcieLinkWidth", device, value,
                  [](const Gpu& gpu, const Condition&) { return gpu.max_pcie_width; });
}
EXPORT int nvmlDeviceGetGpuMaxPcieLinkGeneration(void* device, unsigned* value) {
  return AskValue("nvmlDeviceGetGpuMaxPcieLinkGeneration", device, value,
                  [](const Gpu& gpu, const Condition&) { return gpu.card_max_pcie_generation; });
}
EXPORT int nvmlDeviceGetPcieReplayCounter(void* device, unsigned* value) {
  return Ask("nvmlDeviceGetPcieReplayCounter", device, [&](const Gpu& gpu, const Activity& now) {
    *value = Grown(gpu.pcie_replays, gpu.new_errors.pcie_replays, now);
    return static_cast<int>(nvml::kSuccess);
  });
}

EXPORT int nvmlDeviceGetEccMode(void* device, unsigned* current, unsigned* pending) {
  return Ask("nvmlDeviceGetEccMode", device, [&](const Gpu& gpu, const Activity&) -> int {
    if (!gpu.preset->data_centre) return nvml::kNotSupported;
    *current = *pending = gpu.ecc ? 1 : 0;
    return nvml::kSuccess;
  });
}
EXPORT int nvmlDeviceGetTotalEccErrors(void* device, int type, int, unsigned long long* count) {
  return Ask("nvmlDeviceGetTotalEccErrors", device,
             [&](const Gpu& gpu, const Activity& now) -> int {
               if (!gpu.ecc) return nvml::kNotSupported;
               *count = type == nvml::kCorrected
                            ? Grown(gpu.ecc_corrected, gpu.new_errors.ecc_corrected, now)
                            : Grown(gpu.ecc_uncorrected, gpu.new_errors.ecc_uncorrected, now);
               return nvml::kSuccess;
             });
}
#ifndef MUSTER_FAKE_OLD_NVML
EXPORT int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                                     unsigned* pending, unsigned* failed) {
  return Ask("nvmlDeviceGetRemappedRows", device, [&](const Gpu& gpu, const Activity& now) -> int {
    if (!gpu.preset->remaps_rows) return nvml::kNotSupported;
    *corrected = Grown(gpu.remapped_corrected, gpu.new_errors.remapped, now);
    *uncorrected = gpu.remapped_uncorrected;
    *pending = gpu.remap_pending;
    *failed = gpu.remap_failed;
    return nvml::kSuccess;
  });
}
#endif
EXPORT int nvmlDeviceGetRetiredPages(void* device, int cause, unsigned* count,
                                     unsigned long long* addresses) {
  return Ask("nvmlDeviceGetRetiredPages", device, [&](const Gpu& gpu, const Activity& now) -> int {
    if (!gpu.ecc || gpu.preset->remaps_rows) return nvml::kNotSupported;
    const unsigned pages = cause == nvml::kMultipleSingleBit
                               ? gpu.retired_single
                               : Grown(gpu.retired_double, gpu.new_errors.retired, now);
    const bool fits = *count >= pages;
    for (unsigned i = 0; fits && i < pages; ++i) addresses[i] = i << 16;
    *count = pages;
    return fits ? nvml::kSuccess : 7;  // NVML_ERROR_INSUFFICIENT_SIZE
  });
}
EXPORT int nvmlDeviceGetRetiredPagesPendingStatus(void* device, unsigned* pending) {
  return Ask("nvmlDeviceGetRetiredPagesPendingStatus", device,
             [&](const Gpu& gpu, const Activity&) -> int {
               if (!gpu.ecc || gpu.preset->remaps_rows) return nvml::kNotSupported;
               *pending = gpu.remap_pending;
               return nvml::kSuccess;
             });
}

EXPORT int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* up) {
  return Ask("nvmlDeviceGetNvLinkState", device, [&](const Gpu& gpu, const Activity&) -> int {
    if (gpu.nvlinks == 0) return nvml::kNotSupported;
    if (link >= gpu.nvlinks) return nvml::kInvalidArgument;
    *up = link < gpu.nvlinks_up;
    return nvml::kSuccess;
  });
}
EXPORT int nvmlDeviceGetNvLinkErrorCounter(void* device, unsigned link, int counter,
                                           unsigned long long* count) {
  return Ask("nvmlDeviceGetNvLinkErrorCounter", device,
             [&](const Gpu& gpu, const Activity& now) -> int {
               if (gpu.nvlinks == 0) return nvml::kNotSupported;
               if (link >= gpu.nvlinks) return nvml::kInvalidArgument;
               if (counter == gpu.unsupported_link_counter) return nvml::kNotSupported;
               *count = link == 0 && counter == nvml::kLinkRecovery
                            ? Grown(gpu.nvlink_errors, gpu.new_errors.nvlink, now)
                            : 0;
               return nvml::kSuccess;
             });
}
#ifndef MUSTER_FAKE_OLD_NVML
EXPORT int nvmlDeviceGetGpuFabricInfoV(void* device, nvml::FabricInfo* info) {
  return Ask("nvmlDeviceGetGpuFabricInfoV", device, [&](const Gpu& gpu, const Activity&) -> int {
    if (gpu.preset->major < 9) return nvml::kNotSupported;
    if (info->version != nvml::kFabricInfoVersion) return nvml::kArgumentVersionMismatch;
    info->state = static_cast<unsigned char>(gpu.fabric_state);
    info->status = gpu.fabric_status;
    info->health_mask = gpu.fabric_health;
    return nvml::kSuccess;
  });
}
EXPORT int nvmlDeviceGetGpuFabricInfo(void* device, nvml::FabricInfoV1* info) {
  return Ask("nvmlDeviceGetGpuFabricInfo", device, [&](const Gpu& gpu, const Activity&) -> int {
    if (gpu.preset->major < 9) return nvml::kNotSupported;
    info->state = static_cast<unsigned char>(gpu.fabric_state);
    info->status = gpu.fabric_status;
    return nvml::kSuccess;
  });
}

EXPORT int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  return Ask("nvmlDeviceGetMigMode", device, [&](const Gpu& gpu, const Activity&) -> int {
    if (gpu.preset->major < 8 || !gpu.preset->data_centre) return nvml::kNotSupported;
    *current = *pending = gpu.mig ? 1 : 0;
    return nvml::kSuccess;
  });
}

EXPORT int nvmlDeviceGetMarginTemperature(void* device, nvml::MarginTemperature* margin) {
  return Ask("nvmlDeviceGetMarginTemperature", device,
             [&](const Gpu& gpu, const Activity& activity) -> int {
               if (margin->version != nvml::kMarginTemperatureVersion)
                 return nvml::kArgumentVersionMismatch;
               const std::optional<int> now = Now(gpu, activity).margin;
               margin->celsius = now.value_or(0);
               return now.has_value() ? nvml::kSuccess : nvml::kNotSupported;
             });
}
#endif

// Those that listen to Xids, by the number of Xids that a GPU had when they began.
struct FakeEventSet {
  std::map<int, size_t> told;
};

EXPORT int nvmlEventSetCreate(void** set) {
  *set = new FakeEventSet;
  return nvml::kSuccess;
}
EXPORT int nvmlEventSetFree(void* set) {
  delete static_cast<FakeEventSet*>(set);
  return nvml::kSuccess;
}
EXPORT int nvmlDeviceGetSupportedEventTypes(void* device, unsigned long long* types) {
  return AskValue("nvmlDeviceGetSupportedEventTypes", device, types,
                  [](const Gpu& gpu, const Condition&) {
                    return gpu.xid_events ? nvml::kEventXid : nvml::EventType{};
                  });
}
EXPORT int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  return Ask("nvmlDeviceRegisterEvents", device, [&](const Gpu& gpu, const Activity&) -> int {
    if (types != nvml::kEventXid || !gpu.xid_events) return nvml::kNotSupported;
    const int index = static_cast<int>(reinterpret_cast<intptr_t>(device)) - 1;
    static_cast<FakeEventSet*>(set)->told[index] = gpu.xids.size();
    return nvml::kSuccess;
  });
}
#ifndef MUSTER_FAKE_OLD_NVML
EXPORT int nvmlEventSetWait_v2(void* set, nvml::EventData* event, unsigned timeout_ms) {
  constexpr auto kStep = std::chrono::milliseconds(10);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    HangIfTold("nvmlEventSetWait_v2", -1);
    const std::shared_ptr<const World> world = CurrentWorld();
    for (auto& [index, told] : static_cast<FakeEventSet*>(set)->told) {
      if (static_cast<size_t>(index) >= world->gpus.size()) continue;
      const Gpu& gpu = world->gpus[index];
      if (gpu.lost_after_s == 0) return nvml::kGpuIsLost;
      if (told >= gpu.xids.size()) continue;
      *event = {.device = reinterpret_cast<void*>(static_cast<intptr_t>(index) + 1),
                .event_type = nvml::kEventXid,
                .event_data = gpu.xids[told++],
                .gpu_instance_id = 0xffffffff,
                .compute_instance_id = 0xffffffff};
      return nvml::kSuccess;
    }
    if (std::chrono::steady_clock::now() >= end) return nvml::kTimeout;
    std::this_thread::sleep_for(kStep);
  }
}
#endif

EXPORT int nvmlDeviceGetComputeMode(void* device, int* mode) {
  return AskValue("nvmlDeviceGetComputeMode", device, mode,
                  [](const Gpu& gpu, const Condition&) { return gpu.compute_mode; });
}

static void PutField(const Gpu& gpu, const Condition& now, nvml::FieldValue& field) {
  field.result = nvml::kSuccess;
  if (field.field_id == nvml::kFieldMemoryTemperature && now.memory_temperature > 0) {
    field.value_type = nvml::kValueUnsigned;
    field.value.as_unsigned = now.memory_temperature;
  } else if (field.field_id == nvml::kFieldGpuMaxMargin && gpu.least_margin.has_value()) {
    field.value_type = nvml::kValueSigned;
    field.value.as_signed = *gpu.least_margin;
  } else {
    field.result = nvml::kNotSupported;
  }
}
EXPORT int nvmlDeviceGetFieldValues(void* device, int count, nvml::FieldValue* fields) {
  return Ask("nvmlDeviceGetFieldValues", device, [&](const Gpu& gpu, const Activity& activity) {
    for (int i = 0; i < count; ++i) PutField(gpu, Now(gpu, activity), fields[i]);
    return static_cast<int>(nvml::kSuccess);
  });
}

// Writes entries as the call of that generation does.
template <typename Entry, typename Write>
static int PutProcesses(const std::vector<FakeProcess>& all, unsigned* count, Entry* entries,
                        Write write) {
  const bool fits = *count >= all.size();
  for (size_t i = 0; fits && i < all.size(); ++i) entries[i] = write(all[i]);
  *count = static_cast<unsigned>(all.size());
  return fits ? nvml::kSuccess : 7;  // NVML_ERROR_INSUFFICIENT_SIZE
}

static std::vector<FakeProcess> ProcessesOf(const Gpu& gpu, const Activity& activity,
                                            bool graphics) {
  std::vector<FakeProcess> found;
  for (const FakeProcess& process : gpu.processes)
    if (process.graphics == graphics) found.push_back(process);
  if (!graphics && activity.has_context)
    found.push_back({.pid = static_cast<unsigned>(getpid()), .memory_bytes = 0});
  return found;
}

static nvml::ProcessInfoV1 EntryV1(const FakeProcess& process) {
  return {.pid = process.pid, .used_gpu_memory = process.memory_bytes};
}
static nvml::ProcessInfo EntryOf(const FakeProcess& process) {
  return {.pid = process.pid,
          .used_gpu_memory = process.memory_bytes,
          .gpu_instance_id = 0xffffffff,
          .compute_instance_id = 0xffffffff};
}
static nvml::WideProcessInfo WideEntryOf(const FakeProcess& process) {
  return {.process = EntryOf(process), .used_protected_memory = ~0ull};
}

static int AskProcesses(const char* function, void* device, unsigned* count, bool graphics,
                        size_t entry_bytes, void* out) {
  return Ask(function, device, [&](const Gpu& gpu, const Activity& activity) -> int {
    const std::vector<FakeProcess> all = ProcessesOf(gpu, activity, graphics);
    if (entry_bytes == sizeof(nvml::ProcessInfoV1))
      return PutProcesses(all, count, static_cast<nvml::ProcessInfoV1*>(out), EntryV1);
    if (entry_bytes == sizeof(nvml::WideProcessInfo))
      return PutProcesses(all, count, static_cast<nvml::WideProcessInfo*>(out), WideEntryOf);
    return PutProcesses(all, count, static_cast<nvml::ProcessInfo*>(out), EntryOf);
  });
}

EXPORT int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, void* processes) {
  return AskProcesses("nvmlDeviceGetComputeRunningProcesses", device, count, false,
                      sizeof(nvml::ProcessInfoV1), processes);
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses(void* device, unsigned* count, void* processes) {
  return AskProcesses("nvmlDeviceGetGraphicsRunningProcesses", device, count, true,
                      sizeof(nvml::ProcessInfoV1), processes);
}
#ifndef MUSTER_FAKE_OLD_NVML
// The drivers whose _v3 has wider entries.
static bool IsWide() {
  const std::string version = CurrentWorld()->driver_version;
  return version.rfind("535.43.", 0) == 0 || version.rfind("535.54.", 0) == 0 ||
         version.rfind("535.86.", 0) == 0;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count, void* processes) {
  return AskProcesses("nvmlDeviceGetComputeRunningProcesses_v2", device, count, false,
                      sizeof(nvml::ProcessInfo), processes);
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v2(void* device, unsigned* count,
                                                    void* processes) {
  return AskProcesses("nvmlDeviceGetGraphicsRunningProcesses_v2", device, count, true,
                      sizeof(nvml::ProcessInfo), processes);
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* processes) {
  return AskProcesses("nvmlDeviceGetComputeRunningProcesses_v3", device, count, false,
                      IsWide() ? sizeof(nvml::WideProcessInfo) : sizeof(nvml::ProcessInfo),
                      processes);
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(void* device, unsigned* count,
                                                    void* processes) {
  return AskProcesses("nvmlDeviceGetGraphicsRunningProcesses_v3", device, count, true,
                      IsWide() ? sizeof(nvml::WideProcessInfo) : sizeof(nvml::ProcessInfo),
                      processes);
}
#endif

}  // namespace muster::fake_nvidia
