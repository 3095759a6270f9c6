// Which machine that has told of itself becomes which node. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class ListUnknownMachinesResponse;
class NeighborFacts;
class UnknownMachine;
}  // namespace muster::v1

namespace muster::cli {

// The order in which machines get the names.
enum class AdoptionOrder { kPowerOn, kMac, kSerial, kPort };

// "power-on", "mac", "serial" or "port".
absl::StatusOr<AdoptionOrder> ParseAdoptionOrder(absl::string_view text);

// A machine tells of itself every 15 seconds; one that has not for so long is off, or boots.
inline constexpr absl::Duration kStillThere = absl::Minutes(2);

bool IsWaiting(const v1::UnknownMachine& machine, absl::Time now);

// The system at the other end of the cable by which the machine boots; nullptr: it has not said.
const v1::NeighborFacts* SwitchPortOf(const v1::UnknownMachine& machine);

// Which of the machines that wait, and in which order they get names.
struct MachineChoice {
  AdoptionOrder order = AdoptionOrder::kPowerOn;
  std::string at_switch;          // only those at the switch of this name; "": at any
  std::vector<std::string> macs;  // these alone, in this order; then the others do not count
};

// A port that a machine reports and that another one has, too.
struct ContestedPort {
  std::string mac;
  std::string also_of;  // the other machine, by the address by which it has booted
};

// A machine that is to become a node.
struct Adoption {
  std::string name;
  const v1::UnknownMachine* machine;
  // By which the node may boot: the one by which the machine has, and then those of its other
  // ports, by its own word.
  std::vector<std::string> macs;
  std::vector<ContestedPort> contested;  // the node does not get these
};

// Gives the names to the machines of `response` that `choice` means. One that says that it has a
// port of a node gets none, so that nobody takes the port from the node. A port is contested where
// another machine that waits has booted by it, or another one that gets a name reports it, too: a
// machine that `choice.macs` names gets a name without such ports, so that no lie keeps it from
// one. FailedPrecondition: a port of a node, or one that is contested, where the choice means the
// machine otherwise; there are more or fewer of them than names, or more than the controller keeps;
// one lacks what orders them, or two have the same. InvalidArgument, NotFound: an address of
// `choice.macs`.
absl::StatusOr<std::vector<Adoption>> MatchMachines(const std::vector<std::string>& names,
                                                    const v1::ListUnknownMachinesResponse& response,
                                                    const MachineChoice& choice);

}  // namespace muster::cli
