// The inventory in force.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {

class Store;

struct InventoryRevision {
  uint64_t revision = 0;
  Inventory inventory;
};

// The newest revision of the store, read once and kept until there is a newer one. Thread-safe;
// blocks for the store, so it must not be called inside a transaction.
class CurrentInventory {
 public:
  // `store` must outlive the object.
  explicit CurrentInventory(Store& store) : store_(store) {}

  // FailedPrecondition, with the remedy: none was applied yet.
  absl::StatusOr<std::shared_ptr<const InventoryRevision>> Get();
  // Whether the inventory in force has the node; false when it cannot be read.
  bool Knows(absl::string_view node_name);

 private:
  Store& store_;
  absl::Mutex mutex_;
  std::shared_ptr<const InventoryRevision> cached_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
