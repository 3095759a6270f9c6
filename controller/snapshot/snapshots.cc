#include "controller/snapshot/snapshots.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "controller/audit/audit.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/snapshot_source.h"
#include "controller/snapshot/snapshot_maker.h"
#include "controller/snapshot/snapshot_store.h"
#include "controller/store/store.h"

namespace muster::controller::snapshot {
namespace {

absl::Status Busy() {
  return absl::AbortedError(
      "another snapshot is being created or removed; try again when that is done");
}

}  // namespace

std::string UseOf(const Inventory& inventory, absl::string_view snapshot) {
  const auto find = [&](const std::vector<Variable>& vars, absl::string_view of) -> std::string {
    for (const Variable& variable : vars) {
      if (variable.name != kSnapshotVariable) continue;
      const nlohmann::ordered_json& value = *variable.value;
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      if (text == snapshot) return absl::StrCat(variable.place.ToString(), of);
    }
    return "";
  };
  if (std::string use = find(inventory.vars(), ""); !use.empty()) return use;
  for (const Group& group : inventory.groups()) {
    std::string use = find(group.vars, absl::StrCat(" (group ", group.name, ")"));
    if (!use.empty()) return use;
  }
  for (const Node& node : inventory.nodes()) {
    std::string use = find(node.vars, absl::StrCat(" (node ", node.name, ")"));
    if (!use.empty()) return use;
  }
  return "";
}

Snapshots::Snapshots(SnapshotStore& snapshots, Store& store, sys::HttpClient& http,
                     sys::ProcessRunner& processes, LatestInventory latest_inventory, Clock& clock)
    : snapshots_(snapshots),
      store_(store),
      http_(http),
      processes_(processes),
      latest_inventory_(std::move(latest_inventory)),
      clock_(clock) {}

absl::StatusOr<v1::Snapshot> Snapshots::Create(const std::string& name, const Actor& actor,
                                               const std::function<bool()>& cancelled) {
  if (std::string fault = CheckSnapshotName(name); !fault.empty())
    return absl::InvalidArgumentError(fault);
  if (is_changing_.exchange(true)) return Busy();
  const absl::Cleanup done = [this] { is_changing_ = false; };
  absl::StatusOr<v1::Snapshot> made = Make(name, actor, cancelled);
  // What was kept for it goes.
  if (!made.ok()) snapshots_.Sweep().IgnoreError();
  return made;
}

absl::StatusOr<v1::Snapshot> Snapshots::Make(const std::string& name, const Actor& actor,
                                             const std::function<bool()>& cancelled) {
  if (snapshots_.Get(name).ok())
    return absl::AlreadyExistsError(absl::StrCat(
        "there is a snapshot '", name, "' already; snapshots never change: choose another name"));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Inventory> inventory, latest_inventory_());
  if (inventory->snapshots().empty())
    return absl::FailedPreconditionError(
        "the inventory names no repositories; add 'snapshots' to it (muster help snapshots)");
  SnapshotMaker maker(snapshots_, http_, processes_, clock_.Now(), cancelled);
  v1::Snapshot snapshot;
  snapshot.set_name(name);
  snapshot.set_created_by(actor.name);
  for (const auto& source : inventory->snapshots()) {
    ASSIGN_OR_RETURN(*snapshot.add_repositories(), maker.Make(*source));
  }
  const absl::Time now = clock_.Now();
  *snapshot.mutable_created_at() = ToTimestamp(now);
  uint64_t packages = 0;
  for (const v1::SnapshotRepository& repository : snapshot.repositories())
    packages += repository.packages();
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(Audit(txn, now, actor, "snapshot.create", name, Counted(packages, "package")));
    return snapshots_.Add(snapshot);
  }));
  return snapshot;
}

absl::StatusOr<uint64_t> Snapshots::Remove(const std::string& name, const Actor& actor) {
  if (is_changing_.exchange(true)) return Busy();
  const absl::Cleanup done = [this] { is_changing_ = false; };
  RETURN_IF_ERROR(snapshots_.Get(name).status());
  ASSIGN_OR_RETURN(const std::shared_ptr<const Inventory> inventory, latest_inventory_());
  if (const std::string use = UseOf(*inventory, name); !use.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("the inventory gives nodes the snapshot '",
                                                      name, "': ", use, "; set ", kSnapshotVariable,
                                                      " to another one there first"));
  }
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(Audit(txn, clock_.Now(), actor, "snapshot.remove", name));
    return snapshots_.Remove(name);
  }));
  return snapshots_.Sweep();
}

}  // namespace muster::controller::snapshot
