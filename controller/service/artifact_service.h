// Bundles that the CLI uploads.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "muster/v1/artifact.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class BlobStore;
class BundleApprovals;
class OpenCalls;
class Store;

// ArtifactService. Thread-safe.
class ArtifactService final : public v1::ArtifactService::Service {
 public:
  static constexpr uint32_t kDefaultLimit = 20;
  static constexpr uint32_t kMaxLimit = 1000;
  static constexpr size_t kMaxDiffBytes = size_t{1} << 20;

  using FileTree = std::map<std::string, std::string>;
  using LoadBundle = std::function<absl::StatusOr<FileTree>(const std::string& sha256)>;

  // The references must outlive the object.
  ArtifactService(Store& store, BlobStore& blobs, LoadBundle load_bundle,
                  BundleApprovals& approvals, Clock& clock, OpenCalls& calls)
      : store_(store),
        blobs_(blobs),
        load_bundle_(std::move(load_bundle)),
        approvals_(approvals),
        clock_(clock),
        calls_(calls) {}

  grpc::Status HasBundle(grpc::ServerContext* context, const v1::HasBundleRequest* request,
                         v1::HasBundleResponse* response) override;
  grpc::Status UploadBundle(grpc::ServerContext* context,
                            grpc::ServerReader<v1::UploadBundleRequest>* reader,
                            v1::UploadBundleResponse* response) override;
  grpc::Status ListBundles(grpc::ServerContext* context, const v1::ListBundlesRequest* request,
                           v1::ListBundlesResponse* response) override;
  grpc::Status GetBundle(grpc::ServerContext* context, const v1::GetBundleRequest* request,
                         v1::GetBundleResponse* response) override;
  grpc::Status ApproveBundle(grpc::ServerContext* context, const v1::ApproveBundleRequest* request,
                             v1::ApproveBundleResponse* response) override;
  grpc::Status RevokeBundle(grpc::ServerContext* context, const v1::RevokeBundleRequest* request,
                            v1::RevokeBundleResponse* response) override;

 private:
  absl::Status UploadBundle(grpc::ServerContext& context,
                            grpc::ServerReader<v1::UploadBundleRequest>& reader,
                            v1::UploadBundleResponse& response);
  absl::Status ListBundles(const v1::ListBundlesRequest& request,
                           v1::ListBundlesResponse& response);
  absl::Status GetBundle(const v1::GetBundleRequest& request, v1::GetBundleResponse& response);
  absl::Status ApproveBundle(const grpc::ServerContext& context,
                             const v1::ApproveBundleRequest& request,
                             v1::ApproveBundleResponse& response);
  absl::Status RevokeBundle(const grpc::ServerContext& context,
                            const v1::RevokeBundleRequest& request,
                            v1::RevokeBundleResponse& response);
  absl::Status Fill(const std::string& sha256, v1::Bundle& bundle);
  // The default bundle to compare with: the newest other bundle that is approved; "": none.
  absl::StatusOr<std::string> Predecessor(const std::string& sha256);

  Store& store_;
  BlobStore& blobs_;
  const LoadBundle load_bundle_;
  BundleApprovals& approvals_;
  Clock& clock_;
  OpenCalls& calls_;
};

}  // namespace muster::controller
