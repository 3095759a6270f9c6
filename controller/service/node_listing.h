// What the controller knows of its nodes, put together: inventory, enrolment, session, facts.
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

// All nodes in the order of the inventory (nullptr: there is none yet), then enrolled ones that
// are no longer in it, by name; without their details. Blocks for the store.
absl::StatusOr<std::vector<v1::Node>> ListAllNodes(Store& store, const AgentSessions& sessions,
                                                   const Inventory* inventory);

// What takes long for thousands: the ends of their certificates, and summaries of their facts,
// which are parsed outside of any transaction.
absl::Status AddDetails(Store& store, std::vector<v1::Node>& nodes);

// A few words on the machine: "2 × 16 cores, 192 GiB, 4 × rtx_2080_ti". Pure.
std::string Summarize(const v1::Facts& facts);

}  // namespace muster::controller
