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
class UnknownMachine;
}  // namespace muster::v1

namespace muster::cli {

// The order in which machines get the names.
enum class AdoptionOrder { kPowerOn, kMac, kSerial };

// "power-on", "mac" or "serial".
absl::StatusOr<AdoptionOrder> ParseAdoptionOrder(absl::string_view text);

// A machine tells of itself every 15 seconds; one that has not for so long is off, or boots.
inline constexpr absl::Duration kStillThere = absl::Minutes(2);

bool IsWaiting(const v1::UnknownMachine& machine, absl::Time now);

using Adoption = std::pair<std::string, const v1::UnknownMachine*>;  // a name, its machine

// Gives the names to the machines of `response` that wait, in `order`; or to those of `macs`, if
// there are any, in that order. FailedPrecondition: there are more or fewer of them than names, or
// more than the controller keeps; one has no serial number, or two have the same. InvalidArgument,
// NotFound: an address of `macs`.
absl::StatusOr<std::vector<Adoption>> MatchMachines(const std::vector<std::string>& names,
                                                    const v1::ListUnknownMachinesResponse& response,
                                                    AdoptionOrder order,
                                                    const std::vector<std::string>& macs);

}  // namespace muster::cli
