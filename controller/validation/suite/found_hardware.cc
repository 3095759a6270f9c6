#include "controller/validation/suite/found_hardware.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/containers.h"
#include "muster/v1/controller_records.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

// PCI numbers: NVIDIA's vendor id, and the base class of display controllers (PCI Code and ID
// Assignment Specification). NVSwitches and the cards' audio devices have other classes.
bool IsGpuCard(const v1::PciDeviceFacts& device) {
  return device.vendor_id() == "10de" && absl::StartsWith(device.class_code(), "03");
}

// Drivers of network ports that are functions of a USB device (drivers/net/usb): the port to the
// management controller. It is no part of the network.
constexpr absl::string_view kUsbDrivers[] = {"cdc_eem", "cdc_ether", "cdc_ncm", "cdc_subset",
                                             "rndis_host"};

bool IsManagementPort(const v1::NicFacts& nic) {
  return std::find(std::begin(kUsbDrivers), std::end(kUsbDrivers), nic.driver()) !=
         std::end(kUsbDrivers);
}

}  // namespace

FoundHardware FoundOn(const v1::Facts& facts) {
  FoundHardware found;
  found.container = IsContainer(facts.os().virtualization());
  found.gpus = facts.gpus_size();
  if (!found.container) {
    found.gpu_cards = static_cast<int>(
        std::count_if(facts.pci_devices().begin(), facts.pci_devices().end(), IsGpuCard));
  }
  for (const v1::GpuFacts& gpu : facts.gpus()) {
    if (gpu.power_limit_watts() > 0) found.gpu_power_limits.push_back(gpu.power_limit_watts());
  }
  // Half of them would be taken for all.
  if (static_cast<int>(found.gpu_power_limits.size()) < found.gpus) found.gpu_power_limits.clear();
  std::vector<std::string> uuids;
  for (const v1::GpuFacts& gpu : facts.gpus()) uuids.push_back(gpu.uuid());
  std::sort(uuids.begin(), uuids.end());
  found.gpu_uuids = absl::StrJoin(uuids, " ");
  found.driver_version = facts.nvidia_driver_version();
  found.kernel = facts.os().kernel();
  // Containers see the ports of their host.
  found.rdma = !found.container && facts.infiniband_ports() > 0;
  int cards = 0;
  for (const v1::NicFacts& nic : facts.nics()) {
    if (!nic.up() || nic.kind() == "loopback" || IsManagementPort(nic)) continue;
    if (nic.kind() == "infiniband") found.rdma = true;
    found.nics = true;
    // Bridges and bonds are not cards.
    if (nic.driver().empty() && nic.pci_address().empty()) continue;
    ++cards;
    found.sole_port = cards == 1 && nic.kind() == "ethernet" ? nic.name() : "";
  }
  return found;
}

std::string DescribeChange(const FoundHardware& then, const FoundHardware& now) {
  if (then.gpu_uuids.empty() && then.driver_version.empty() && then.kernel.empty()) return "";
  std::vector<std::string> changes;
  const std::vector<std::string> before = absl::StrSplit(then.gpu_uuids, ' ', absl::SkipEmpty());
  const std::vector<std::string> after = absl::StrSplit(now.gpu_uuids, ' ', absl::SkipEmpty());
  const auto name = [&](const std::vector<std::string>& some,
                        const std::vector<std::string>& others, absl::string_view what) {
    std::vector<std::string> only;
    std::set_difference(some.begin(), some.end(), others.begin(), others.end(),
                        std::back_inserter(only));
    if (!only.empty()) changes.push_back(absl::StrCat(absl::StrJoin(only, ", "), what));
  };
  name(before, after, " is gone");
  name(after, before, " is new");
  const auto compare = [&](absl::string_view what, const std::string& old_one,
                           const std::string& new_one) {
    if (old_one == new_one) return;
    changes.push_back(absl::StrCat(what, " ", old_one.empty() ? "none" : old_one, " at its start, ",
                                   new_one.empty() ? "none" : new_one, " at its end"));
  };
  compare("driver", then.driver_version, now.driver_version);
  compare("kernel", then.kernel, now.kernel);
  return absl::StrJoin(changes, "; ");
}

std::string PackFound(const FoundHardware& found) {
  v1::FoundHardware message;
  message.set_is_known(true);
  message.set_gpus(static_cast<uint32_t>(found.gpus));
  for (const double watts : found.gpu_power_limits) message.add_gpu_power_limits(watts);
  message.set_nics(found.nics);
  message.set_rdma(found.rdma);
  message.set_sole_port(found.sole_port);
  message.set_container(found.container);
  message.set_gpu_uuids(found.gpu_uuids);
  message.set_driver_version(found.driver_version);
  message.set_kernel(found.kernel);
  message.set_gpu_cards(static_cast<uint32_t>(found.gpu_cards));
  return message.SerializeAsString();
}

std::optional<FoundHardware> UnpackFound(const std::string& stored) {
  v1::FoundHardware message;
  if (!message.ParseFromString(stored) || !message.is_known()) return std::nullopt;
  FoundHardware found;
  found.gpus = static_cast<int>(message.gpus());
  found.gpu_power_limits.assign(message.gpu_power_limits().begin(),
                                message.gpu_power_limits().end());
  found.nics = message.nics();
  found.rdma = message.rdma();
  found.sole_port = message.sole_port();
  found.container = message.container();
  found.gpu_uuids = message.gpu_uuids();
  found.driver_version = message.driver_version();
  found.kernel = message.kernel();
  found.gpu_cards = static_cast<int>(message.gpu_cards());
  return found;
}

}  // namespace muster::controller::validation
