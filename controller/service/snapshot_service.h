// Snapshots, for people.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/snapshot.grpc.pb.h"

namespace muster::controller {

namespace snapshot {
class SnapshotStore;
class Snapshots;
}  // namespace snapshot

// SnapshotService. Thread-safe.
class SnapshotService final : public v1::SnapshotService::Service {
 public:
  // The references must outlive the object.
  SnapshotService(snapshot::Snapshots& snapshots, snapshot::SnapshotStore& store)
      : snapshots_(snapshots), store_(store) {}

  grpc::Status CreateSnapshot(grpc::ServerContext* context,
                              const v1::CreateSnapshotRequest* request,
                              v1::CreateSnapshotResponse* response) override;
  grpc::Status GetSnapshot(grpc::ServerContext* context, const v1::GetSnapshotRequest* request,
                           v1::GetSnapshotResponse* response) override;
  grpc::Status ListSnapshots(grpc::ServerContext* context, const v1::ListSnapshotsRequest* request,
                             v1::ListSnapshotsResponse* response) override;
  grpc::Status DiffSnapshots(grpc::ServerContext* context, const v1::DiffSnapshotsRequest* request,
                             v1::DiffSnapshotsResponse* response) override;
  grpc::Status RemoveSnapshot(grpc::ServerContext* context,
                              const v1::RemoveSnapshotRequest* request,
                              v1::RemoveSnapshotResponse* response) override;

 private:
  absl::Status Create(grpc::ServerContext& context, const v1::CreateSnapshotRequest& request,
                      v1::CreateSnapshotResponse& response);
  absl::Status List(v1::ListSnapshotsResponse& response);
  absl::Status Get(const v1::GetSnapshotRequest& request, v1::GetSnapshotResponse& response);
  absl::Status Diff(const v1::DiffSnapshotsRequest& request, v1::DiffSnapshotsResponse& response);
  absl::Status Remove(grpc::ServerContext& context, const v1::RemoveSnapshotRequest& request,
                      v1::RemoveSnapshotResponse& response);
  // Sets kept_bytes, too.
  absl::Status Fill(const v1::Snapshot& from, v1::Snapshot& to);

  snapshot::Snapshots& snapshots_;
  snapshot::SnapshotStore& store_;
};

}  // namespace muster::controller
