// The inventory, read from the store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "controller/run/collaborators.h"

namespace muster::controller {

struct InventoryRecord;

// The files of a stored revision, by their paths. DataLoss: they are damaged.
absl::StatusOr<std::map<std::string, std::string>> FilesOf(const InventoryRecord& record);

// Revisions of the inventory; keeps the few that were asked for last parsed. Thread-safe; blocks
// for the store, so it must not be called inside a transaction.
class StoredInventory final : public InventorySource {
 public:
  // `store` must outlive the object.
  explicit StoredInventory(Store& store) : store_(store) {}

  absl::StatusOr<InventoryVersion> Latest() override;
  absl::StatusOr<std::shared_ptr<const Inventory>> Get(uint64_t revision) override;
  // Whether the current inventory has the node; false when it cannot be read.
  bool Knows(absl::string_view node_name);

 private:
  static constexpr size_t kKept = 4;

  // nullptr: it is not in parsed_. Moves it to the front.
  std::shared_ptr<const Inventory> Find(uint64_t revision) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Store& store_;
  absl::Mutex mutex_;
  // Asked for last first.
  std::vector<std::pair<uint64_t, std::shared_ptr<const Inventory>>> parsed_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
