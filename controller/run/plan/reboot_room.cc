#include "controller/run/plan/reboot_room.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {
namespace {

constexpr int64_t kMostReboots = 100'000;
constexpr absl::Duration kLongestGap = absl::Hours(1);

absl::Status Wrong(const Variable& variable, absl::string_view expected) {
  return absl::FailedPreconditionError(absl::StrCat(variable.place.ToString(), ": ", variable.name,
                                                    " is ", variable.value->dump(),
                                                    ", but must be ", expected));
}

absl::StatusOr<uint32_t> Count(const Variable& variable) {
  const nlohmann::ordered_json& value = *variable.value;
  if (!value.is_number_integer() || value < 0 || value > kMostReboots)
    return Wrong(variable, "a number of nodes, or 0 for no limit");
  return value.get<uint32_t>();
}

absl::StatusOr<absl::Duration> Gap(const Variable& variable) {
  absl::Duration gap;
  const bool is_duration = variable.value->is_string() &&
                           absl::ParseDuration(variable.value->get<std::string>(), &gap) &&
                           gap >= absl::ZeroDuration() && gap <= kLongestGap;
  if (!is_duration) return Wrong(variable, "a time of at most 1h, such as \"10s\"");
  return gap;
}

// Of the open reboots, how many are there where `is_there` says.
template <typename IsThere>
std::string WhyFull(const std::vector<OpenReboot>& open, uint32_t most, absl::string_view where,
                    const IsThere& is_there) {
  if (most == 0) return "";
  std::vector<std::string> nodes;
  for (const OpenReboot& reboot : open) {
    if (is_there(reboot.place)) nodes.push_back(reboot.node);
  }
  if (nodes.size() < most) return "";
  return absl::StrCat(FoldHostlist(nodes), nodes.size() == 1 ? " is" : " are", " rebooting ", where,
                      ", and at most ", most, " may at once");
}

}  // namespace

absl::StatusOr<RebootLimits> RebootLimitsOf(const Inventory& inventory, const Node& node) {
  RebootLimits limits;
  for (const Variable& variable : VariablesOf(inventory, node)) {  // a later one wins
    if (variable.name == "reboots_per_rack") {
      ASSIGN_OR_RETURN(limits.per_rack, Count(variable));
    } else if (variable.name == "reboots_per_switch") {
      ASSIGN_OR_RETURN(limits.per_switch, Count(variable));
    } else if (variable.name == "reboot_gap") {
      ASSIGN_OR_RETURN(limits.gap, Gap(variable));
    }
  }
  return limits;
}

RebootPlace RebootPlaceOf(const Inventory& inventory, const std::string& node) {
  const Node* found = inventory.FindNode(node);
  if (found == nullptr) return {};
  const Rack* rack = inventory.FindRack(found->rack);
  return {found->rack, rack == nullptr ? "" : rack->switch_name};
}

std::string WhyNoRoom(const RebootLimits& limits, const RebootPlace& place,
                      const std::vector<OpenReboot>& open, absl::Time last_in_rack,
                      absl::Time now) {
  if (!place.rack.empty()) {
    std::string why = WhyFull(open, limits.per_rack, absl::StrCat("in rack ", place.rack),
                              [&](const RebootPlace& other) { return other.rack == place.rack; });
    if (!why.empty()) return why;
    // A clock that was set back holds nobody up for longer than the gap.
    const absl::Duration since = now - last_in_rack;
    if (since >= absl::ZeroDuration() && since < limits.gap) {
      return absl::StrCat("the last reboot in rack ", place.rack, " began ", HumanDuration(since),
                          " ago, and ", HumanDuration(limits.gap), " must lie between two");
    }
  }
  if (place.switch_name.empty()) return "";
  return WhyFull(open, limits.per_switch, absl::StrCat("behind switch ", place.switch_name),
                 [&](const RebootPlace& other) { return other.switch_name == place.switch_name; });
}

}  // namespace muster::controller
