// Reads results of good hardware from the store into a FloorLearner.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "controller/inventory/inventory.h"
#include "controller/validation/learning/floor_learner.h"
#include "controller/validation/suite/catalog_names.h"

namespace muster::controller {
class Store;
}

namespace muster::controller::validation {

// The number of validations that are read at most, newest first.
inline constexpr uint32_t kMaxLearnValidations = 1000;

struct GoodResultQuery {
  std::string suite;  // empty: all suites
  absl::Time since;
  std::function<bool()> is_cancelled;  // called between pages
};

// Reads results that passed, on nodes that passed, from validations that ran to their end; reads a
// page at a time, so that the store is never held for long. For checks between two nodes, only
// results between ports of one kind count: the slower one decides. `notes` receives a sentence for
// each thing that was left out. Cancelled: `is_cancelled` said so.
absl::Status ReadGoodResults(Store& store, const Inventory& inventory, Catalog catalog,
                             const GoodResultQuery& query, FloorLearner& learner,
                             std::vector<std::string>& notes);

}  // namespace muster::controller::validation
