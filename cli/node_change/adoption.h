// Which machine that has told of itself becomes which node. Pure.
#pragma once

#include <string>
#include <utility>
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

using Adoption = std::pair<std::string, const v1::UnknownMachine*>;  // a name, its machine

// Gives the names to the machines of `response` that `choice` means. FailedPrecondition: there are
// more or fewer of them than names, or more than the controller keeps; one lacks what orders them,
// or two have the same. InvalidArgument, NotFound: an address of `choice.macs`.
absl::StatusOr<std::vector<Adoption>> MatchMachines(const std::vector<std::string>& names,
                                                    const v1::ListUnknownMachinesResponse& response,
                                                    const MachineChoice& choice);

}  // namespace muster::cli
