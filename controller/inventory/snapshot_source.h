// A repository of which snapshots are made: an entry of `snapshots:`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "controller/inventory/inventory.h"

namespace muster::controller {

inline constexpr size_t kMaxSnapshotSources = 32;

// Immutable once the inventory is parsed.
struct SnapshotSource {
  std::string name;
  std::vector<std::string> uris;  // http or https; of one and the same repository
  std::vector<std::string> suites;
  std::vector<std::string> components;
  std::vector<std::string> architectures;
  // Exactly one of the two is set.
  std::string signed_by;  // the path of a keyring, on the controller and on nodes
  std::string key;        // in ASCII armor
  Place place;
};

// What was written, for `show` and differences.
nlohmann::ordered_json ToValue(const SnapshotSource& source);

}  // namespace muster::controller
