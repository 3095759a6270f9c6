// Combines what the controller knows about its nodes: inventory, enrollment, session, facts.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/node.pb.h"

namespace muster::v1 {
class Facts;
}

namespace muster::controller {

class AgentSessions;
class Inventory;
class Store;

// All nodes in the order of the inventory (nullptr: there is none yet), followed by name by
// enrolled ones that are no longer in it; without their details. Blocks for the store.
absl::StatusOr<std::vector<v1::Node>> ListAllNodes(Store& store, const AgentSessions& sessions,
                                                   const Inventory* inventory);

// Adds the details that take long for thousands of nodes: the ends of their certificates, and
// summaries of their facts, which are parsed outside of any transaction.
absl::Status AddDetails(Store& store, std::vector<v1::Node>& nodes);

// A short description of the machine: "2 × 16 cores, 192 GiB, 4 × rtx_2080_ti". Pure.
std::string Summarize(const v1::Facts& facts);

}  // namespace muster::controller
