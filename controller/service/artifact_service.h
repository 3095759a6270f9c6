// Bundles from the CLI.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/artifact.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class BlobStore;
class OpenCalls;
class Store;

// ArtifactService. Thread-safe.
class ArtifactService final : public v1::ArtifactService::Service {
 public:
  // The references must outlive the object.
  ArtifactService(Store& store, BlobStore& blobs, Clock& clock, OpenCalls& calls)
      : store_(store), blobs_(blobs), clock_(clock), calls_(calls) {}

  grpc::Status HasBundle(grpc::ServerContext* context, const v1::HasBundleRequest* request,
                         v1::HasBundleResponse* response) override;
  grpc::Status UploadBundle(grpc::ServerContext* context,
                            grpc::ServerReader<v1::UploadBundleRequest>* reader,
                            v1::UploadBundleResponse* response) override;

 private:
  absl::Status UploadBundle(grpc::ServerContext& context,
                            grpc::ServerReader<v1::UploadBundleRequest>& reader,
                            v1::UploadBundleResponse& response);

  Store& store_;
  BlobStore& blobs_;
  Clock& clock_;
  OpenCalls& calls_;
};

}  // namespace muster::controller
