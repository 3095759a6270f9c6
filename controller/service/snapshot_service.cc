#include "controller/service/snapshot_service.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/session/caller.h"
#include "controller/snapshot/package_diff.h"
#include "controller/snapshot/snapshot_store.h"
#include "controller/snapshot/snapshots.h"

namespace muster::controller {

grpc::Status SnapshotService::CreateSnapshot(grpc::ServerContext* context,
                                             const v1::CreateSnapshotRequest* request,
                                             v1::CreateSnapshotResponse* response) {
  return ToGrpc(Create(*context, *request, *response));
}

grpc::Status SnapshotService::GetSnapshot(grpc::ServerContext*,
                                          const v1::GetSnapshotRequest* request,
                                          v1::GetSnapshotResponse* response) {
  return ToGrpc(Get(*request, *response));
}

grpc::Status SnapshotService::ListSnapshots(grpc::ServerContext*, const v1::ListSnapshotsRequest*,
                                            v1::ListSnapshotsResponse* response) {
  return ToGrpc(List(*response));
}

grpc::Status SnapshotService::DiffSnapshots(grpc::ServerContext*,
                                            const v1::DiffSnapshotsRequest* request,
                                            v1::DiffSnapshotsResponse* response) {
  return ToGrpc(Diff(*request, *response));
}

grpc::Status SnapshotService::RemoveSnapshot(grpc::ServerContext* context,
                                             const v1::RemoveSnapshotRequest* request,
                                             v1::RemoveSnapshotResponse* response) {
  return ToGrpc(Remove(*context, *request, *response));
}

absl::Status SnapshotService::Fill(const v1::Snapshot& from, v1::Snapshot& to) {
  to = from;
  ASSIGN_OR_RETURN(const uint64_t bytes, store_.KeptBytes(from));
  to.set_kept_bytes(bytes);
  return absl::OkStatus();
}

absl::Status SnapshotService::Create(grpc::ServerContext& context,
                                     const v1::CreateSnapshotRequest& request,
                                     v1::CreateSnapshotResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const v1::Snapshot made,
                   snapshots_.Create(request.name(), caller.ToActor(),
                                     [&context] { return context.IsCancelled(); }));
  return Fill(made, *response.mutable_snapshot());
}

absl::Status SnapshotService::Get(const v1::GetSnapshotRequest& request,
                                  v1::GetSnapshotResponse& response) {
  ASSIGN_OR_RETURN(const auto snapshot, store_.Get(request.name()));
  return Fill(*snapshot, *response.mutable_snapshot());
}

absl::Status SnapshotService::List(v1::ListSnapshotsResponse& response) {
  for (const auto& snapshot : store_.List())
    RETURN_IF_ERROR(Fill(*snapshot, *response.add_snapshots()));
  return absl::OkStatus();
}

absl::Status SnapshotService::Diff(const v1::DiffSnapshotsRequest& request,
                                   v1::DiffSnapshotsResponse& response) {
  ASSIGN_OR_RETURN(const auto before, store_.Get(request.before()));
  ASSIGN_OR_RETURN(const auto after, store_.Get(request.after()));
  ASSIGN_OR_RETURN(const auto old_lists, store_.PackagesOf(*before));
  ASSIGN_OR_RETURN(const auto new_lists, store_.PackagesOf(*after));
  for (snapshot::PackageChange& each : snapshot::DiffPackages(old_lists, new_lists)) {
    v1::PackageChange& change = *response.add_changes();
    change.set_name(std::move(each.name));
    change.set_architecture(std::move(each.architecture));
    change.set_before(std::move(each.before));
    change.set_after(std::move(each.after));
  }
  return absl::OkStatus();
}

absl::Status SnapshotService::Remove(grpc::ServerContext& context,
                                     const v1::RemoveSnapshotRequest& request,
                                     v1::RemoveSnapshotResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const uint64_t freed, snapshots_.Remove(request.name(), caller.ToActor()));
  response.set_freed_bytes(freed);
  return absl::OkStatus();
}

}  // namespace muster::controller
