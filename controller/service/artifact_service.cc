#include "controller/service/artifact_service.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/artifact/bundle_upload.h"
#include "controller/enrollment/audit.h"
#include "controller/enrollment/enrollment.h"
#include "controller/session/caller.h"
#include "controller/session/open_calls.h"
#include "controller/store/store.h"

namespace muster::controller {

grpc::Status ArtifactService::HasBundle(grpc::ServerContext*, const v1::HasBundleRequest* request,
                                        v1::HasBundleResponse* response) {
  const absl::StatusOr<bool> present = controller::HasBundle(store_, blobs_, request->sha256());
  if (present.ok()) response->set_present(*present);
  return ToGrpc(present.status());
}

grpc::Status ArtifactService::UploadBundle(grpc::ServerContext* context,
                                           grpc::ServerReader<v1::UploadBundleRequest>* reader,
                                           v1::UploadBundleResponse* response) {
  return ToGrpc(UploadBundle(*context, *reader, *response));
}

absl::Status ArtifactService::UploadBundle(grpc::ServerContext& context,
                                           grpc::ServerReader<v1::UploadBundleRequest>& reader,
                                           v1::UploadBundleResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  const OpenCalls::Entry open_call = calls_.Add(caller.identity, &context);
  v1::UploadBundleRequest part;
  if (!reader.Read(&part) || !part.has_header())
    return absl::InvalidArgumentError("an upload begins with the bundle's header");
  const v1::BundleHeader header = part.header();
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleUpload> upload,
                   BundleUpload::Begin(store_, blobs_, header.sha256(), header.size()));
  while (reader.Read(&part)) {
    if (part.part_case() != v1::UploadBundleRequest::kData)
      return absl::InvalidArgumentError("after the bundle's header comes data");
    RETURN_IF_ERROR(upload->Append(part.data()));
  }
  if (context.IsCancelled()) return absl::CancelledError("the upload was broken off");
  const absl::Time now = clock_.Now();
  ASSIGN_OR_RETURN(const size_t files, upload->Finish(now));
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return Audit(txn, now, caller.ToActor(), "bundle.upload", header.sha256(),
                 absl::StrCat(files, " files, ", header.size(), " bytes"));
  }));
  response.set_sha256(header.sha256());
  response.set_files(static_cast<uint32_t>(files));
  return absl::OkStatus();
}

}  // namespace muster::controller
