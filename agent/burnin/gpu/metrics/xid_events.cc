#include "agent/burnin/gpu/metrics/xid_events.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr unsigned kWaitMs = 1000;

// An event set, which the library keeps until it is freed.
class XidEvents {
 public:
  static absl::StatusOr<std::unique_ptr<XidEvents>> Make(const Nvml& nvml) {
    nvml::EventSet set = nullptr;
    RETURN_IF_ERROR(nvml.Call<nvml::EventSetCreate>(&set));
    return std::unique_ptr<XidEvents>(new XidEvents(nvml, set));
  }
  ~XidEvents() { nvml_.Ask<nvml::EventSetFree>(set_); }
  XidEvents(const XidEvents&) = delete;
  XidEvents& operator=(const XidEvents&) = delete;

  absl::Status Register(nvml::Device gpu) {
    unsigned long long types = 0;
    RETURN_IF_ERROR(nvml_.Call<nvml::DeviceGetSupportedEventTypes>(gpu, &types));
    if ((types & nvml::kEventXid) == 0)
      return absl::UnimplementedError("the GPU does not tell of Xids");
    constexpr auto kXid = static_cast<unsigned long long>(nvml::kEventXid);
    return nvml_.Call<nvml::DeviceRegisterEvents>(gpu, kXid, set_);
  }

  // Waits for the next event, a second at most. False: there was none.
  absl::StatusOr<bool> Wait(nvml::EventData& event) {
    const int code = nvml_.Ask<nvml::EventSetWait_v2>(set_, &event, kWaitMs);
    if (code == nvml::kTimeout) return false;
    RETURN_IF_ERROR(nvml_.ToStatus(code, nvml::EventSetWait_v2::kName));
    return event.event_type == nvml::kEventXid;
  }

 private:
  XidEvents(const Nvml& nvml, nvml::EventSet set) : nvml_(nvml), set_(set) {}

  const Nvml& nvml_;
  const nvml::EventSet set_;
};

// "0000:3b:00", as the driver writes it into the kernel's log.
std::string SlotOf(const Nvml& nvml, nvml::Device device) {
  const std::string address = NvmlDevice(nvml, device).PciAddress().value_or("");
  return address.substr(0, address.rfind('.'));
}

}  // namespace

absl::Status HearXids(Clock& clock, absl::Duration duration,
                      const std::function<void(unsigned gpus)>& on_begin,
                      const std::function<void(absl::string_view line)>& take,
                      const std::string& library) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Nvml> nvml, Nvml::Load(library));
  ASSIGN_OR_RETURN(const unsigned count, nvml->DeviceCount());
  ASSIGN_OR_RETURN(const std::unique_ptr<XidEvents> events, XidEvents::Make(*nvml));
  unsigned telling = 0;
  absl::Status refused = absl::UnimplementedError("there is no GPU");
  for (unsigned i = 0; i < count; ++i) {
    const absl::StatusOr<nvml::Device> gpu = nvml->DeviceAt(i);
    const absl::Status status = gpu.ok() ? events->Register(*gpu) : gpu.status();
    if (status.ok()) {
      ++telling;
    } else {
      refused = status;
    }
  }
  if (telling == 0) return refused;
  on_begin(telling);
  for (const absl::Time end = clock.Now() + duration; clock.Now() < end;) {
    nvml::EventData event = {};
    ASSIGN_OR_RETURN(const bool is_xid, events->Wait(event));
    if (is_xid)
      take(absl::StrCat("NVRM: Xid (PCI:", SlotOf(*nvml, event.device), "): ", event.event_data,
                        ", told by NVML"));
  }
  return absl::OkStatus();
}

}  // namespace muster::burnin
