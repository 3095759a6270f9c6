// All nodes at a glance.
#pragma once

#include <string>
#include <vector>

#include "muster/v1/node.pb.h"

namespace muster::controller {

class Inventory;

// The nodes as JSON of some 25 bytes each: words and racks once, in lists, and for each node
// [name, rack, state, service, role, flags], the middle four as places in these lists, -1 for none.
// `inventory` says which switch a rack is connected to; nullptr: there is none. Pure.
std::string OverviewJson(const std::vector<v1::Node>& nodes, const Inventory* inventory);

// The bits of `flags`, which web/overview.js repeats.
enum OverviewFlag : int {
  kConnected = 1,
  kHeld = 2,          // by a person or an update
  kFactsRefused = 4,  // its newest facts break a rule
  kLastRunFailed = 8,
};

}  // namespace muster::controller
