#include "controller/service/inventory_service.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/enrollment.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/words.h"
#include "controller/service/front/refusal.h"
#include "controller/session/caller.h"
#include "controller/slurm/slurmctld_node.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

// Of those that a refusal lists.
constexpr size_t kChangesShown = 20;

using Files = google::protobuf::RepeatedPtrField<v1::InventoryFile>;

absl::Status CheckPath(const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  const bool good = std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && part != "." && part != "..";
  });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' is not a path relative to the inventory's folder"));
}

absl::StatusOr<Inventory> Parse(const Files& files, VariableCheck check_variable = nullptr) {
  if (files.empty()) return absl::InvalidArgumentError("no inventory file was sent");
  std::map<std::string, std::string> contents;
  size_t bytes = 0;
  for (const v1::InventoryFile& file : files) {
    RETURN_IF_ERROR(CheckPath(file.path()));
    if (!contents.emplace(file.path(), file.content()).second) {
      return absl::InvalidArgumentError(absl::StrCat(file.path(), " was sent twice"));
    }
    bytes += file.content().size();
  }
  if (bytes > InventoryService::kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the inventory takes ", bytes,
                                                   " bytes, at most ", InventoryService::kMaxBytes,
                                                   " are allowed"));
  }
  return ParseInventory(contents, check_variable);
}

// What people hand in. A variable that templates never see is their error, and so is an empty list
// that would stand for everything; what is stored may have them from an earlier version.
absl::StatusOr<Inventory> ParseGiven(const Files& files) {
  return Parse(files, playbook::CheckGivenVariable);
}

// Nodes of `before` that are not in `now`.
std::vector<std::string> Dropped(const Inventory& before, const Inventory& now) {
  std::vector<std::string> names;
  for (const Node& node : before.nodes()) {
    if (now.FindNode(node.name) == nullptr) names.push_back(node.name);
  }
  return names;
}

// Refuses a name for slurmctld that the inventory does not have: jobs would run that nobody sees.
// An inventory that had such a name before may keep it.
absl::Status CheckSlurmctld(const Inventory& before, const Inventory& now) {
  const auto fault_of = [](const Inventory& inventory) {
    return slurm::HasPlaceForSlurmctld(inventory) ? slurm::SlurmctldNodes(inventory).status()
                                                  : absl::OkStatus();
  };
  const absl::Status fault = fault_of(now);
  if (fault.ok() || !fault_of(before).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(fault.message());
}

void FillBase(const InventoryRecord& record, v1::InventoryBase& base) {
  base.set_revision(record.revision);
  base.set_sha256(Sha256Hex(record.files));
}

absl::StatusOr<Inventory> StoredInventory(const InventoryRecord& record) {
  v1::ApplyInventoryRequest stored;
  if (!stored.ParseFromString(record.files))
    return absl::DataLossError("the stored inventory is damaged; apply it again");
  return Parse(stored.files());
}

// Refuses files that were made from an earlier revision than the one in force, `latest`. A base
// that is not known here is another cluster's, and says nothing.
absl::Status CheckBase(Transaction& txn, const v1::InventoryBase& base,
                       const InventoryRecord& latest) {
  if (base.revision() == latest.revision) return absl::OkStatus();
  const absl::StatusOr<InventoryRecord> seen = txn.inventory().Get(base.revision());
  if (absl::IsNotFound(seen.status())) return absl::OkStatus();
  RETURN_IF_ERROR(seen.status());
  if (Sha256Hex(seen->files) != base.sha256()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Inventory before, StoredInventory(*seen));
  ASSIGN_OR_RETURN(const Inventory now, StoredInventory(latest));
  std::vector<std::string> changes = muster::controller::DiffInventory(before, now);
  const size_t more = changes.size() - std::min(changes.size(), kChangesShown);
  changes.resize(changes.size() - more);
  if (more > 0) changes.push_back(absl::StrCat("and ", Counted(more, "further change")));
  return absl::AbortedError(absl::StrCat(
      "these files were made from revision ", base.revision(), ", and ", latest.applied_by,
      " has applied revision ", latest.revision, " since:\n  ", absl::StrJoin(changes, "\n  "),
      "\n`muster inventory push` merges it into these files and applies both; or undo it "
      "with --overwrite; nothing was applied"));
}

absl::Status NoRevision() {
  return absl::FailedPreconditionError(
      "there is no inventory yet; write one and run `muster inventory apply`");
}

}  // namespace

grpc::Status InventoryService::CheckInventory(grpc::ServerContext*,
                                              const v1::CheckInventoryRequest* request,
                                              v1::CheckInventoryResponse* response) {
  return Answer(Check(*request, *response), response);
}

grpc::Status InventoryService::ApplyInventory(grpc::ServerContext* context,
                                              const v1::ApplyInventoryRequest* request,
                                              v1::ApplyInventoryResponse* response) {
  const absl::StatusOr<Caller> caller = CallerOf(*context);
  if (!caller.ok()) return ToGrpc(caller.status());
  return Answer(Apply(*request, caller->ToActor(), *response), response);
}

grpc::Status InventoryService::GetInventory(grpc::ServerContext*,
                                            const v1::GetInventoryRequest* request,
                                            v1::GetInventoryResponse* response) {
  return Answer(Get(*request, *response), response);
}

grpc::Status InventoryService::DiffInventory(grpc::ServerContext*,
                                             const v1::DiffInventoryRequest* request,
                                             v1::DiffInventoryResponse* response) {
  return Answer(Diff(*request, *response), response);
}

absl::Status InventoryService::Check(const v1::CheckInventoryRequest& request,
                                     v1::CheckInventoryResponse& response) {
  ASSIGN_OR_RETURN(const Inventory inventory, ParseGiven(request.files()));
  Inventory before;
  RETURN_IF_ERROR(Latest(before).status());
  RETURN_IF_ERROR(CheckSlurmctld(before, inventory));
  response.set_nodes(static_cast<uint32_t>(inventory.nodes().size()));
  response.set_racks(static_cast<uint32_t>(inventory.racks().size()));
  response.set_groups(
      static_cast<uint32_t>(std::count_if(inventory.groups().begin(), inventory.groups().end(),
                                          [](const Group& group) { return !group.implicit; })));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> InventoryService::Latest(Inventory& inventory) {
  InventoryRecord record;
  const absl::Status found = store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(record, txn.inventory().Latest());
    return absl::OkStatus();
  });
  if (absl::IsNotFound(found)) return uint64_t{0};
  RETURN_IF_ERROR(found);
  // One that cannot be read any more is replaced as a whole.
  if (absl::StatusOr<Inventory> stored = StoredInventory(record); stored.ok())
    inventory = *std::move(stored);
  return record.revision;
}

absl::Status InventoryService::Apply(const v1::ApplyInventoryRequest& request, const Actor& actor,
                                     v1::ApplyInventoryResponse& response) {
  ASSIGN_OR_RETURN(const Inventory now, ParseGiven(request.files()));
  Inventory before;
  ASSIGN_OR_RETURN(const uint64_t revision, Latest(before));
  RETURN_IF_ERROR(CheckSlurmctld(before, now));
  if (now.cluster() != cluster_) {
    response.set_controller_cluster(cluster_);
    response.set_inventory_cluster(std::string(now.cluster()));
  }
  const std::vector<std::string> changes = muster::controller::DiffInventory(before, now);
  if (changes.empty() && revision != 0) {
    response.set_revision(revision);
    return store_.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const InventoryRecord record, txn.inventory().Get(revision));
      FillBase(record, *response.mutable_base());
      return absl::OkStatus();
    });
  }
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    const absl::StatusOr<InventoryRecord> latest = txn.inventory().Latest();
    if (!latest.ok() && !absl::IsNotFound(latest.status())) return latest.status();
    if (latest.ok() && request.has_base()) RETURN_IF_ERROR(CheckBase(txn, request.base(), *latest));
    if ((latest.ok() ? latest->revision : 0) != revision) {
      return absl::AbortedError(
          "somebody else applied an inventory in the meantime; review `muster inventory diff` and "
          "try again");
    }
    InventoryRecord record;
    record.revision = revision + 1;
    record.applied_at = clock_.Now();
    record.applied_by = actor.name;
    v1::ApplyInventoryRequest stored;
    *stored.mutable_files() = request.files();
    stored.SerializeToString(&record.files);
    RETURN_IF_ERROR(txn.inventory().Insert(record));
    FillBase(record, *response.mutable_base());
    return Audit(txn, record.applied_at, actor, "inventory.apply",
                 absl::StrCat("revision ", record.revision), Counted(changes.size(), "change"));
  }));
  response.set_revision(revision + 1);
  for (const std::string& change : changes) response.add_changes(change);
  ASSIGN_OR_RETURN(const std::vector<std::string> members, MembersOf(Dropped(before, now)));
  response.mutable_dropped_members()->Assign(members.begin(), members.end());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> InventoryService::MembersOf(
    const std::vector<std::string>& nodes) {
  std::vector<std::string> members;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    for (const std::string& name : nodes) {
      const absl::Status found = txn.nodes().GetByName(name).status();
      if (absl::IsNotFound(found)) continue;
      RETURN_IF_ERROR(found);
      members.push_back(name);
    }
    return absl::OkStatus();
  }));
  return members;
}

absl::Status InventoryService::Get(const v1::GetInventoryRequest& request,
                                   v1::GetInventoryResponse& response) {
  const bool is_newest = request.revision() == 0;
  InventoryRecord record;
  const absl::Status found = store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(
        record, is_newest ? txn.inventory().Latest() : txn.inventory().Get(request.revision()));
    return absl::OkStatus();
  });
  if (absl::IsNotFound(found) && is_newest) return NoRevision();
  RETURN_IF_ERROR(found);
  v1::ApplyInventoryRequest stored;
  if (!stored.ParseFromString(record.files)) {
    return absl::DataLossError("the stored inventory is damaged; apply it again");
  }
  // One that is asked for by its number may be from before a rule of today.
  if (is_newest) {
    const absl::StatusOr<Inventory> inventory = Parse(stored.files());
    if (!inventory.ok()) {
      return Annotate(inventory.status(), absl::StrCat("inventory revision ", record.revision));
    }
    response.set_resolved_json(ToValue(*inventory).dump());
  }
  response.set_revision(record.revision);
  FillBase(record, *response.mutable_base());
  *response.mutable_applied_at() = ToTimestamp(record.applied_at);
  response.set_applied_by(record.applied_by);
  *response.mutable_files() = stored.files();
  return absl::OkStatus();
}

absl::Status InventoryService::Diff(const v1::DiffInventoryRequest& request,
                                    v1::DiffInventoryResponse& response) {
  ASSIGN_OR_RETURN(const Inventory now, ParseGiven(request.files()));
  Inventory before;
  RETURN_IF_ERROR(Latest(before).status());
  for (const std::string& change : muster::controller::DiffInventory(before, now)) {
    response.add_changes(change);
  }
  response.set_cluster_before(std::string(before.cluster()));
  response.set_cluster_after(std::string(now.cluster()));
  const std::vector<std::string> dropped = Dropped(before, now);
  response.mutable_dropped_nodes()->Assign(dropped.begin(), dropped.end());
  ASSIGN_OR_RETURN(const std::vector<std::string> members, MembersOf(dropped));
  response.mutable_dropped_members()->Assign(members.begin(), members.end());
  return absl::OkStatus();
}

}  // namespace muster::controller
