#include "cli/node_change/adoption.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/natural_order.h"
#include "common/base/text/nearest_word.h"
#include "common/base/text/plain_text.h"
#include "common/value/ethernet_ports.h"
#include "muster/v1/boot.pb.h"

namespace muster::cli {
namespace {

using Machines = std::vector<const v1::UnknownMachine*>;

// ListUnknownMachinesResponse has no more.
constexpr int kKept = 256;

constexpr std::pair<absl::string_view, AdoptionOrder> kOrders[] = {
    {"power-on", AdoptionOrder::kPowerOn},
    {"mac", AdoptionOrder::kMac},
    {"serial", AdoptionOrder::kSerial},
    {"port", AdoptionOrder::kPort},
};

constexpr absl::string_view kOtherOrders = "; order them by power-on or mac, or by --machines";

std::string SerialOf(const v1::UnknownMachine& machine) {
  return PlainText(machine.facts().machine().serial(), Lines::kOne);
}

std::string SwitchOf(const v1::UnknownMachine& machine) {
  const v1::NeighborFacts* at = SwitchPortOf(machine);
  return at == nullptr ? "" : PlainText(at->system(), Lines::kOne);
}

std::string PortOf(const v1::UnknownMachine& machine) {
  const v1::NeighborFacts* at = SwitchPortOf(machine);
  if (at == nullptr || at->port().empty()) return "";
  return PlainText(absl::StrCat(at->system(), " ", at->port()), Lines::kOne);
}

absl::StatusOr<Machines> ThoseOf(const std::vector<std::string>& macs, const Machines& waiting) {
  Machines chosen;
  for (const std::string& written : macs) {
    const std::string mac = absl::StrReplaceAll(absl::AsciiStrToLower(written), {{"-", ":"}});
    const auto found = std::find_if(waiting.begin(), waiting.end(),
                                    [&](const auto* each) { return each->mac() == mac; });
    if (found == waiting.end())
      return absl::NotFoundError(absl::StrCat(
          "no waiting machine has the MAC address '", PlainText(written, Lines::kOne, 64),
          "'; `muster node discover list` shows those that do"));
    if (std::find(chosen.begin(), chosen.end(), *found) != chosen.end())
      return absl::InvalidArgumentError(absl::StrCat("--machines has ", mac, " twice"));
    if (const std::string& node = (*found)->node(); !node.empty())
      return absl::FailedPreconditionError(
          absl::StrCat(mac, " says that it has a port of ", node, "; if it is ", node, ", add ",
                       mac, " to its `mac` by `muster inventory edit`; where ", node,
                       " shares its entry with other nodes, give it one of its own first"));
    chosen.push_back(*found);
  }
  return chosen;
}

// Its ports but the one by which it has booted, by its own word.
std::vector<std::string> OtherPortsOf(const v1::UnknownMachine& machine) {
  std::vector<std::string> macs;
  for (std::string& mac : PciEthernetMacs(machine.facts()))
    if (mac != machine.mac()) macs.push_back(std::move(mac));
  return macs;
}

// Which machines have a port: those that wait, by which they have booted, and those that are
// chosen, which they report.
std::map<std::string, Machines> HoldersOfPorts(const Machines& chosen, const Machines& waiting) {
  std::map<std::string, Machines> holders;
  for (const v1::UnknownMachine* machine : waiting) holders[machine->mac()].push_back(machine);
  for (const v1::UnknownMachine* machine : chosen)
    for (const std::string& mac : OtherPortsOf(*machine)) holders[mac].push_back(machine);
  return holders;
}

std::vector<Adoption> AdoptionsOf(const std::vector<std::string>& names, const Machines& chosen,
                                  const Machines& waiting) {
  const std::map<std::string, Machines> holders = HoldersOfPorts(chosen, waiting);
  std::vector<Adoption> adoptions;
  for (size_t i = 0; i < names.size(); ++i) {
    Adoption& adoption = adoptions.emplace_back();
    adoption.name = names[i];
    adoption.machine = chosen[i];
    adoption.macs = {chosen[i]->mac()};
    for (const std::string& mac : OtherPortsOf(*chosen[i])) {
      const Machines& of_port = holders.at(mac);
      const auto other = std::find_if(of_port.begin(), of_port.end(),
                                      [&](const auto* each) { return each != chosen[i]; });
      if (other == of_port.end()) {
        adoption.macs.push_back(mac);
      } else {
        adoption.contested.push_back({mac, (*other)->mac()});
      }
    }
  }
  return adoptions;
}

absl::Status CheckNoneIsContested(const std::vector<Adoption>& adoptions) {
  for (const Adoption& each : adoptions) {
    if (each.contested.empty()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        each.machine->mac(), " and ", each.contested.front().also_of, " both report the port ",
        each.contested.front().mac,
        "; if they are one machine that has booted by both, wait two minutes; otherwise name the "
        "machines to adopt with --machines; they are then adopted without the contested port"));
  }
  return absl::OkStatus();
}

// What tells machines apart in an order that they could lack, or share.
struct Distinction {
  AdoptionOrder order;
  std::string (*of)(const v1::UnknownMachine& machine);
  absl::string_view name;
  absl::string_view remedy;  // where one lacks it
};

constexpr Distinction kDistinctions[] = {
    {AdoptionOrder::kSerial, SerialOf, "serial number", ""},
    {AdoptionOrder::kPort, PortOf, "switch port",
     "; a switch tells it every 30 seconds, if LLDP is on there"},
};

// Sorts machines by it. Two that share it stand side by side then.
absl::Status SortBy(const Distinction& by, Machines& machines) {
  std::sort(machines.begin(), machines.end(), [&](const auto* a, const auto* b) {
    const std::string mine = by.of(*a);
    const std::string other = by.of(*b);
    return mine != other ? NaturalLess(mine, other) : a->mac() < b->mac();
  });
  for (size_t i = 0; i < machines.size(); ++i) {
    const std::string own = by.of(*machines[i]);
    if (own.empty())
      return absl::FailedPreconditionError(
          absl::StrCat(machines[i]->mac(), " reports no ", by.name, by.remedy, kOtherOrders));
    if (i > 0 && own == by.of(*machines[i - 1]))
      return absl::FailedPreconditionError(absl::StrCat(machines[i - 1]->mac(), " and ",
                                                        machines[i]->mac(), " report the same ",
                                                        by.name, ", ", own, kOtherOrders));
  }
  return absl::OkStatus();
}

absl::Status Sort(AdoptionOrder order, Machines& machines) {
  for (const Distinction& each : kDistinctions)
    if (each.order == order) return SortBy(each, machines);
  std::sort(machines.begin(), machines.end(), [&](const auto* a, const auto* b) {
    const auto key = [&](const v1::UnknownMachine& machine) {
      return std::make_pair(
          order == AdoptionOrder::kPowerOn ? ToTime(machine.first_seen()) : absl::Time(),
          machine.mac());
    };
    return key(*a) < key(*b);
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AdoptionOrder> ParseAdoptionOrder(absl::string_view text) {
  std::vector<std::string> words;
  for (const auto& [word, order] : kOrders) {
    if (word == text) return order;
    words.emplace_back(word);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown order '", PlainText(text, Lines::kOne, 64),
                   "' for --by: power-on, mac, serial or port", DidYouMean(text, words)));
}

bool IsWaiting(const v1::UnknownMachine& machine, absl::Time now) {
  return machine.has_told_at() && now - ToTime(machine.told_at()) < kStillThere;
}

const v1::NeighborFacts* SwitchPortOf(const v1::UnknownMachine& machine) {
  const v1::Facts& facts = machine.facts();
  for (const v1::NicFacts& nic : facts.nics()) {
    if (nic.mac() != machine.mac()) continue;
    for (const v1::NeighborFacts& neighbor : facts.neighbors())
      if (neighbor.interface() == nic.name()) return &neighbor;
  }
  return nullptr;
}

absl::StatusOr<std::vector<Adoption>> MatchMachines(const std::vector<std::string>& names,
                                                    const v1::ListUnknownMachinesResponse& response,
                                                    const MachineChoice& choice) {
  if (choice.macs.empty() && response.machines_size() >= kKept)
    return absl::FailedPreconditionError(
        absl::StrCat("the controller keeps ", kKept,
                     " machines, and there may be more; choose some of them by --machines"));
  const absl::Time now = ToTime(response.time());
  Machines waiting, machines;
  for (const v1::UnknownMachine& machine : response.machines()) {
    if (!IsWaiting(machine, now)) continue;
    waiting.push_back(&machine);
    if (machine.node().empty() &&
        (choice.at_switch.empty() || SwitchOf(machine) == choice.at_switch))
      machines.push_back(&machine);
  }
  if (!choice.macs.empty()) {
    ASSIGN_OR_RETURN(machines, ThoseOf(choice.macs, waiting));
  } else {
    RETURN_IF_ERROR(Sort(choice.order, machines));
  }
  if (machines.size() != names.size()) {
    const std::string where =
        choice.at_switch.empty()
            ? ""
            : absl::StrCat(" at ", PlainText(choice.at_switch, Lines::kOne, 64));
    return absl::FailedPreconditionError(absl::StrCat(
        Counted(names.size(), "name"), " for ", Counted(machines.size(), "machine"), where,
        choice.macs.empty()
            ? ": name as many as wait (`muster node discover list`), or choose some of them by "
              "--switch or --machines"
            : " of --machines"));
  }
  std::vector<Adoption> adoptions = AdoptionsOf(names, machines, waiting);
  if (choice.macs.empty()) RETURN_IF_ERROR(CheckNoneIsContested(adoptions));
  return adoptions;
}

}  // namespace muster::cli
