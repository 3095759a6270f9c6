#include "controller/run/plan/stored_inventory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/inventory/inventory.h"
#include "controller/store/tables.h"
#include "muster/v1/inventory.pb.h"

namespace muster::controller {

absl::StatusOr<std::map<std::string, std::string>> FilesOf(const InventoryRecord& record) {
  v1::ApplyInventoryRequest request;
  if (!request.ParseFromString(record.files)) {
    return absl::DataLossError(
        absl::StrCat("inventory revision ", record.revision, ": the stored files are damaged"));
  }
  std::map<std::string, std::string> files;
  for (const v1::InventoryFile& file : request.files()) files[file.path()] = file.content();
  return files;
}

absl::StatusOr<InventoryVersion> StoredInventory::Latest() {
  InventoryRecord record;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(record, txn.inventory().Latest());
    return absl::OkStatus();
  }));
  InventoryVersion version;
  version.revision = record.revision;
  ASSIGN_OR_RETURN(version.inventory, Get(record.revision));
  return version;
}

std::shared_ptr<const Inventory> StoredInventory::Find(uint64_t revision) {
  const auto it = std::find_if(parsed_.begin(), parsed_.end(),
                               [&](const auto& parsed) { return parsed.first == revision; });
  if (it == parsed_.end()) return nullptr;
  std::rotate(parsed_.begin(), it, it + 1);
  return parsed_.front().second;
}

absl::StatusOr<std::shared_ptr<const Inventory>> StoredInventory::Get(uint64_t revision) {
  {
    absl::MutexLock lock(&mutex_);
    if (auto parsed = Find(revision); parsed != nullptr) return parsed;
  }
  InventoryRecord record;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(record, txn.inventory().Get(revision));
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(const auto files, FilesOf(record));
  absl::StatusOr<Inventory> inventory = ParseInventory(files);
  if (!inventory.ok()) {
    return Annotate(inventory.status(), absl::StrCat("inventory revision ", revision));
  }
  auto shared = std::make_shared<const Inventory>(*std::move(inventory));
  absl::MutexLock lock(&mutex_);
  // Another thread may have parsed it meanwhile.
  if (auto parsed = Find(revision); parsed != nullptr) return parsed;
  parsed_.insert(parsed_.begin(), {revision, shared});
  if (parsed_.size() > kKept) parsed_.pop_back();
  return shared;
}

bool StoredInventory::Knows(absl::string_view node_name) {
  const absl::StatusOr<InventoryVersion> current = Latest();
  return current.ok() && current->inventory->FindNode(node_name) != nullptr;
}

}  // namespace muster::controller
