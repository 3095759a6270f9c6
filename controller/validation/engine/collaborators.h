// What validations work with, and who asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "controller/audit/audit.h"
#include "controller/validation/suite/catalog_names.h"

namespace muster {
class Clock;
}

namespace muster::controller {
class AgentSessions;
class Inventory;
class NodeClaims;
class Store;
}  // namespace muster::controller

namespace muster::controller::validation {

class JobGate;

// All are thread-safe and outlive the engine.
struct ValidationCollaborators {
  Store& store;
  AgentSessions& sessions;
  Clock& clock;
  NodeClaims& claims;
  JobGate& gate;
  Catalog catalog;
  // The inventory in force with its revision, and an earlier one.
  std::function<absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>>()>
      latest_inventory;
  std::function<absl::StatusOr<std::shared_ptr<const Inventory>>(uint64_t revision)> inventory;
  // The files of the bundle with this SHA-256. NotFound: not uploaded.
  std::function<absl::StatusOr<std::map<std::string, std::string>>(const std::string& sha256)>
      load_bundle;
};

}  // namespace muster::controller::validation
