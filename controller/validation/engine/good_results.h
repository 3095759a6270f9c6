// Results of good hardware, out of the store into a FloorLearner.
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

// Validations that are read at most, the newest.
inline constexpr uint32_t kMaxLearnValidations = 1000;

struct GoodResultQuery {
  std::string suite;  // empty: of all
  absl::Time since;
  std::function<bool()> is_cancelled;  // asked between pages
};

// Reads what passed, on nodes that passed, of validations that ran to their end; a page at a time,
// so that the store is never held for long. Between two nodes only what ports of one kind reached
// counts: the slower one decides. `notes` gets what was left out, a sentence each. Cancelled: as
// asked for.
absl::Status ReadGoodResults(Store& store, const Inventory& inventory, Catalog catalog,
                             const GoodResultQuery& query, FloorLearner& learner,
                             std::vector<std::string>& notes);

}  // namespace muster::controller::validation
