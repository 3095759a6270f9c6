// The PCI devices that matter to a GPU cluster, whether or not a driver is loaded for them.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

constexpr int64_t kNvidia = 0x10de;
constexpr int64_t kMellanox = 0x15b3;

}  // namespace

absl::Status ProbePci(const ProbeContext& context, v1::Facts& facts) {
  const std::string devices = context.root + "/sys/bus/pci/devices";
  for (const std::string& address : ListNames(devices)) {
    const std::string device = absl::StrCat(devices, "/", address);
    const int64_t vendor = ReadNumber(device + "/vendor").value_or(0);
    if (vendor != kNvidia && vendor != kMellanox) continue;
    v1::PciDeviceFacts& pci = *facts.add_pci_devices();
    pci.set_address(address);
    pci.set_vendor_id(absl::StrFormat("%04x", vendor));
    pci.set_device_id(absl::StrFormat("%04x", ReadNumber(device + "/device").value_or(0)));
    pci.set_class_code(absl::StrFormat("%06x", ReadNumber(device + "/class").value_or(0)));
    pci.set_driver(LinkName(device + "/driver"));
    pci.set_numa_node(static_cast<int32_t>(ReadNumber(device + "/numa_node").value_or(-1)));
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
