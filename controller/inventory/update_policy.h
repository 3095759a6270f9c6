// How workers are kept up to date without a command: an entry of `updates:`.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "controller/inventory/inventory.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller {

// Immutable once the inventory is parsed.
struct UpdatePolicy {
  std::string name;
  // As `muster update` would ask for it, but without a bundle. `limit` is a host list of `nodes`;
  // empty where the policy is about all workers.
  v1::CreateRolloutRequest request;
  std::vector<std::string> nodes;  // in inventory order; all of role compute
  Place place;
};

// What was written, for `show` and differences.
nlohmann::ordered_json ToValue(const UpdatePolicy& policy);

}  // namespace muster::controller
