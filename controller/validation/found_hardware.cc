#include "controller/validation/found_hardware.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/string_view.h"
#include "muster/v1/controller_records.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

// What systemd-detect-virt calls containers (systemd-detect-virt(1)).
constexpr absl::string_view kContainers[] = {
    "openvz", "lxc", "lxc-libvirt", "systemd-nspawn", "docker",          "podman",
    "rkt",    "wsl", "proot",       "pouch",          "container-other",
};

}  // namespace

FoundHardware FoundOn(const v1::Facts& facts) {
  FoundHardware found;
  found.container = std::find(std::begin(kContainers), std::end(kContainers),
                              facts.os().virtualization()) != std::end(kContainers);
  found.gpus = facts.gpus_size();
  for (const v1::GpuFacts& gpu : facts.gpus()) {
    if (gpu.power_limit_watts() > 0) found.gpu_power_limits.push_back(gpu.power_limit_watts());
  }
  // Half of them would pass for all.
  if (static_cast<int>(found.gpu_power_limits.size()) < found.gpus) found.gpu_power_limits.clear();
  int cards = 0;
  for (const v1::NicFacts& nic : facts.nics()) {
    if (!nic.up() || nic.kind() == "loopback") continue;
    if (nic.kind() == "infiniband") found.rdma = true;
    found.nics = true;
    // Bridges and bonds are no cards.
    if (nic.driver().empty() && nic.pci_address().empty()) continue;
    ++cards;
    found.sole_port = cards == 1 && nic.kind() == "ethernet" ? nic.name() : "";
  }
  return found;
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
  return found;
}

}  // namespace muster::controller::validation
