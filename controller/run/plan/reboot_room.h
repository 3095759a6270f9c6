// How many nodes of a rack, or behind a switch, may reboot at once, and how soon after each other.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::controller {

class Inventory;
struct Node;

// The variables reboots_per_rack, reboots_per_switch and reboot_gap of a node; see
// docs/inventory.md.
struct RebootLimits {
  uint32_t per_rack = 0;    // 0: no limit
  uint32_t per_switch = 0;  // 0: no limit
  // The least time between the beginnings of two reboots in a rack, where a crowd of machines that
  // power up at once would trip a fuse.
  absl::Duration gap = absl::ZeroDuration();
};

// FailedPrecondition names the place and the variable that is none of what it may be.
absl::StatusOr<RebootLimits> RebootLimitsOf(const Inventory& inventory, const Node& node);

// Where a node stands; empty: not known, and not limited.
struct RebootPlace {
  std::string rack;
  std::string switch_name;
};
RebootPlace RebootPlaceOf(const Inventory& inventory, const std::string& node);

// A node that has a permit and is not back yet.
struct OpenReboot {
  std::string node;
  RebootPlace place;
};

// Why a node may not begin to reboot now, for people: "c001 and c002 of rack r1 are rebooting, and
// at most 2 may at once". Empty: it may. `last_in_rack`: when the last reboot in its rack began;
// InfinitePast(): not known.
std::string WhyNoRoom(const RebootLimits& limits, const RebootPlace& place,
                      const std::vector<OpenReboot>& open, absl::Time last_in_rack, absl::Time now);

}  // namespace muster::controller
