#include "cli/render/report/discovery_report.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/proto_time.h"
#include "common/base/text/counted.h"
#include "muster/v1/boot.pb.h"

namespace muster::cli {
namespace {

constexpr absl::string_view kNvidia = "10de";
constexpr absl::string_view kDisplay = "03";  // the PCI class of display controllers

// "8 × NVIDIA H100 80GB HBM3, 1 × …".
std::string CountedKinds(const std::map<std::string, int>& kinds) {
  return kinds.empty() ? "-" : absl::StrJoin(kinds, ", ", [](std::string* out, const auto& kind) {
    absl::StrAppend(out, kind.second, " × ", Tame(kind.first));
  });
}

// Without a driver there are only the ids of the PCI bus.
std::string GpusOf(const v1::Facts& facts) {
  std::map<std::string, int> kinds;
  for (const v1::GpuFacts& gpu : facts.gpus()) ++kinds[gpu.name()];
  if (!kinds.empty()) return CountedKinds(kinds);
  for (const v1::PciDeviceFacts& device : facts.pci_devices()) {
    if (device.vendor_id() == kNvidia && absl::StartsWith(device.class_code(), kDisplay))
      ++kinds[absl::StrCat(device.vendor_id(), ":", device.device_id())];
  }
  return CountedKinds(kinds);
}

std::string DisksOf(const v1::Facts& facts) {
  std::map<std::string, int> kinds;
  for (const v1::DiskFacts& disk : facts.disks()) ++kinds[HumanBytes(disk.size_bytes())];
  return CountedKinds(kinds);
}

std::string MachineOf(const v1::Facts& facts) {
  const v1::MachineFacts& machine = facts.machine();
  return CleanOrDash(absl::StrCat(machine.vendor(),
                                  machine.vendor().empty() || machine.product().empty() ? "" : " ",
                                  machine.product()));
}

std::string CoresOf(const v1::Facts& facts) {
  const uint32_t cores = facts.cpu().sockets() * facts.cpu().cores_per_socket();
  return cores == 0 ? "-" : absl::StrCat(cores);
}

std::string MemoryOf(const v1::Facts& facts) {
  return facts.has_memory() ? absl::StrCat((facts.memory().total_mib() + 512) / 1024, " GiB") : "-";
}

// "leaf03 Ethernet1/7".
std::string PortOf(const v1::UnknownMachine& machine) {
  const v1::NeighborFacts* at = SwitchPortOf(machine);
  if (at == nullptr) return "-";
  return CleanOrDash(absl::StrCat(at->system(), at->port().empty() ? "" : " ", at->port()));
}

std::string WaitOf(const v1::UnknownMachine& machine, absl::Time now) {
  if (!machine.has_told_at())
    return absl::StrCat("asked ", HumanTime(ToTime(machine.last_seen()), now));
  if (IsWaiting(machine, now) && !machine.node().empty())
    return absl::StrCat("port of ", Tame(machine.node()));
  if (IsWaiting(machine, now)) return "waits";
  return absl::StrCat("silent since ", HumanTime(ToTime(machine.told_at()), now));
}

}  // namespace

std::string RenderDiscovered(const v1::ListUnknownMachinesResponse& response) {
  const std::string trouble =
      response.trouble().empty() ? "" : absl::StrCat(CleanLine(response.trouble()), "\n");
  if (response.machines().empty())
    return absl::StrCat("no machine that the inventory does not have has asked what to boot\n",
                        trouble);
  const absl::Time now = ToTime(response.time());
  std::vector<const v1::UnknownMachine*> machines;
  for (const v1::UnknownMachine& machine : response.machines()) machines.push_back(&machine);
  std::stable_sort(machines.begin(), machines.end(), [](const auto* a, const auto* b) {
    return ToTime(a->first_seen()) < ToTime(b->first_seen());
  });
  Table table({"MAC", "STATE", "ON SINCE", "ADDRESS", "SWITCH PORT", "MACHINE", "SERIAL", "CORES",
               "MEMORY", "GPUS", "DISKS"});
  size_t waiting = 0;
  for (const v1::UnknownMachine* machine : machines) {
    const v1::Facts& facts = machine->facts();
    waiting += IsWaiting(*machine, now) && machine->node().empty();
    table.AddRow({Tame(machine->mac()), WaitOf(*machine, now),
                  HumanTime(ToTime(machine->first_seen()), now), Tame(machine->address()),
                  PortOf(*machine), MachineOf(facts), CleanOrDash(facts.machine().serial()),
                  CoresOf(facts), MemoryOf(facts), GpusOf(facts), DisksOf(facts)});
  }
  return absl::StrCat(table.ToString(), Counted(waiting, "machine"), " to adopt\n", trouble);
}

std::string RenderAdoptions(const std::vector<Adoption>& adoptions,
                            const std::map<std::string, std::string>& addresses) {
  Table table(
      {"NODE", "MAC", "ADDRESS", "SWITCH PORT", "MACHINE", "SERIAL", "GPUS", "OTHER PORTS"});
  std::string contested;
  for (const Adoption& each : adoptions) {
    const v1::Facts& facts = each.machine->facts();
    const std::string others = absl::StrJoin(each.macs.begin() + 1, each.macs.end(), ", ");
    const auto address = addresses.find(each.name);
    table.AddRow({each.name, Tame(each.macs.front()),
                  address == addresses.end() ? "-" : address->second, PortOf(*each.machine),
                  MachineOf(facts), CleanOrDash(facts.machine().serial()), GpusOf(facts),
                  others.empty() ? "-" : Tame(others)});
    for (const ContestedPort& port : each.contested) {
      absl::StrAppend(&contested, each.name, " does not get the port ", Tame(port.mac), ", which ",
                      Tame(port.also_of),
                      " reports, too. If they are one machine, wait two minutes; otherwise, if the "
                      "port is ",
                      each.name, "'s, add it to its `mac` by `muster inventory edit`.\n");
    }
  }
  return absl::StrCat(table.ToString(), contested);
}

}  // namespace muster::cli
