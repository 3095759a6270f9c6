// How nodes are watched for differences from what was applied: an entry of `drift:`.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {

// Begins the names of the policies' actors (controller/audit): "drift/nightly".
inline constexpr absl::string_view kDriftActor = "drift/";

// Immutable once the inventory is parsed.
struct DriftPolicy {
  static constexpr absl::Duration kDefaultInterval = absl::Hours(24);
  // A check asks every package manager, every unit and every file: more often is a load of its own.
  static constexpr absl::Duration kLeastInterval = absl::Seconds(10);

  std::string name;
  std::string playbook;            // its path in a site
  std::vector<std::string> nodes;  // in inventory order
  absl::Duration every = kDefaultInterval;
  bool repairs = false;  // workers that differ are updated as they fall idle
  Place place;
};

// What was written, for `show` and differences.
nlohmann::ordered_json ToValue(const DriftPolicy& policy);

}  // namespace muster::controller
