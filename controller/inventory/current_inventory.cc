#include "controller/inventory/current_inventory.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/inventory.pb.h"

namespace muster::controller {
namespace {

absl::StatusOr<Inventory> Parse(const InventoryRecord& record) {
  v1::ApplyInventoryRequest request;
  if (!request.ParseFromString(record.files))
    return absl::DataLossError("the stored files are damaged");
  std::map<std::string, std::string> files;
  for (const v1::InventoryFile& file : request.files()) files[file.path()] = file.content();
  return ParseInventory(files);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const InventoryRevision>> CurrentInventory::Get() {
  InventoryRecord record;
  const absl::Status found = store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(record, txn.inventory().Latest());
    return absl::OkStatus();
  });
  if (absl::IsNotFound(found))
    return absl::FailedPreconditionError(
        "there is no inventory yet; write one and run `muster inventory apply`");
  RETURN_IF_ERROR(found);
  absl::MutexLock lock(&mutex_);
  if (cached_ == nullptr || cached_->revision != record.revision) {
    absl::StatusOr<Inventory> inventory = Parse(record);
    if (!inventory.ok())
      return Annotate(inventory.status(), absl::StrCat("inventory revision ", record.revision));
    cached_ = std::make_shared<const InventoryRevision>(
        InventoryRevision{record.revision, *std::move(inventory)});
  }
  return cached_;
}

bool CurrentInventory::Knows(absl::string_view node_name) {
  const absl::StatusOr<std::shared_ptr<const InventoryRevision>> current = Get();
  return current.ok() && (*current)->inventory.FindNode(node_name) != nullptr;
}

}  // namespace muster::controller
