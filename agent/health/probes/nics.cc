// Network interfaces: links that are lost, slow, flap or damage packets.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "agent/facts/sysfs.h"
#include "agent/health/probes/interfaces.h"
#include "agent/health/probes/probe.h"
#include "common/base/clock.h"

namespace muster::agent::health {
namespace {

// if.h's IFF_UP.
constexpr int64_t kUp = 1;

class NicProbe final : public Probe {
 public:
  explicit NicProbe(const ProbeContext& context) : context_(context) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    Findings findings;
    std::set<std::string> present;
    for (const std::string& name : HardwareInterfaces(context_.root)) {
      present.insert(name);
      const std::string device = absl::StrCat(context_.root, "/sys/class/net/", name);
      // Somebody has switched it off.
      if ((ReadNumber(device + "/flags").value_or(0) & kUp) == 0) continue;
      LookAtLink(name, device, findings);
      LookAtCounters(name, device, limits, findings);
    }
    for (const auto& [name, state] : states_) {
      if (present.count(name) == 0 && state.had_link && IsLost(state.pci_device))
        findings.Bad("nic_down", name,
                     absl::StrCat(name, " is gone: its adapter ", state.pci_device,
                                  " fell off the bus, or the driver gave it up"));
    }
    return findings;
  }

 private:
  // Where the adapter is in its slot and has its driver, the interface has another name now, or is
  // in a container.
  bool IsLost(const std::string& pci_device) const {
    return !pci_device.empty() && LinkName(PciFolder(pci_device) + "/driver").empty();
  }
  std::string PciFolder(const std::string& pci_device) const {
    return absl::StrCat(context_.root, "/sys/bus/pci/devices/", pci_device);
  }
  // "": not on PCI, or one of several functions that its driver makes and takes away (SR-IOV).
  std::string PciDeviceOf(const std::string& device) const {
    const std::string name = LinkName(device + "/device");
    if (name.empty() || !LinkName(device + "/device/physfn").empty()) return "";
    return LinkName(PciFolder(name) + "/driver").empty() ? "" : name;
  }

  void LookAtLink(const std::string& name, const std::string& device, Findings& findings) {
    State& state = states_[name];
    const bool has_link = ReadNumber(device + "/carrier").value_or(0) == 1;
    if (has_link) {
      state.had_link = true;
      state.pci_device = PciDeviceOf(device);
    }
    // Since the boot, where the kernel counts that.
    const bool had_link =
        state.had_link || ReadNumber(device + "/carrier_up_count").value_or(0) > 0;
    if (!has_link) {
      if (had_link)
        findings.Bad("nic_down", name,
                     absl::StrCat(name, " has no link: check cable, transceiver and switch port"));
      return;
    }
    const int64_t speed = ReadNumber(device + "/speed").value_or(-1);
    if (speed <= 0) return;
    state.best_mbits_per_s = std::max(state.best_mbits_per_s, speed);
    if (speed < state.best_mbits_per_s)
      findings.Bad("nic_slow", name,
                   absl::StrCat(name, " runs at ", speed, " Mb/s, before at ",
                                state.best_mbits_per_s, " Mb/s"));
  }

  void LookAtCounters(const std::string& name, const std::string& device,
                      const muster::health::Limits& limits, Findings& findings) {
    const absl::Time now = context_.clock->Now();
    if (const auto losses = ReadNumber(device + "/carrier_down_count")) {
      const double in_day =
          context_.trends
              ->Add(absl::StrCat("nic/", name, "/carrier_down"), static_cast<double>(*losses), now)
              .in_day;
      if (in_day >= limits.Of("nic_flapping.per_day"))
        findings.Bad("nic_flapping", name,
                     absl::StrCat(name, " lost its link ", in_day, " times within a day"));
    }
    const auto crc = ReadNumber(device + "/statistics/rx_crc_errors");
    const auto frame = ReadNumber(device + "/statistics/rx_frame_errors");
    if (!crc.has_value() && !frame.has_value()) return;
    const double in_hour = context_.trends
                               ->Add(absl::StrCat("nic/", name, "/damaged"),
                                     static_cast<double>(crc.value_or(0) + frame.value_or(0)), now)
                               .in_hour;
    if (in_hour > 60 * limits.Of("nic_errors.per_minute"))
      findings.Bad("nic_errors", name,
                   absl::StrCat(name, " received ", in_hour, " damaged packets within an hour: ",
                                "check cable and transceiver"));
  }

  struct State {
    bool had_link = false;
    std::string pci_device;  // its address, while it had a link
    int64_t best_mbits_per_s = 0;
  };

  const ProbeContext context_;
  std::map<std::string, State> states_;
};

}  // namespace

std::unique_ptr<Probe> MakeNicProbe(const ProbeContext& context) {
  return std::make_unique<NicProbe>(context);
}

}  // namespace muster::agent::health
