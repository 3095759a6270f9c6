// The inventory as template values.
#pragma once

#include <deque>

#include <nlohmann/json_fwd.hpp>

#include "common/value/secret_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"

namespace muster::controller::playbook {

// {name, role, address, bmc_address, mac, rack, groups}
Value NodeValue(const Node& node);

// Node name → NodeValue with `vars` (its own and its groups' variables, except templates) and
// `facts`, where there are any. Thousands of nodes have the same variables: what they share is lent
// to them (common/value/folded_value.h), by the inventory and by `shared`, and `facts` lends the
// facts. All three must outlive the value and its copies.
Value NodesValue(const Inventory& inventory, const FactsByNode& facts, std::deque<Value>* shared);

// {version, address, agent_packages: architecture → {url, sha256}, snapshots: name → repositories}
Value OfferValue(const ControllerOffer& offer);

Value GroupsValue(const Inventory& inventory);      // name → list of node names
Value PartitionsValue(const Inventory& inventory);  // name → {name, nodes, default, …}
Value RacksValue(const Inventory& inventory);       // name → {name, nodes, switch, …}

}  // namespace muster::controller::playbook
