// Images, for people.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/image.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class OpenCalls;

namespace boot {
class Boots;
}
namespace image {
class ImageBuilds;
class Images;
class ImageStore;
}  // namespace image

// ImageService. Thread-safe.
class ImageService final : public v1::ImageService::Service {
 public:
  // The references must outlive the object.
  ImageService(image::ImageBuilds& builds, image::Images& images, image::ImageStore& store,
               boot::Boots& boots, Clock& clock, OpenCalls& calls)
      : builds_(builds),
        images_(images),
        store_(store),
        boots_(boots),
        clock_(clock),
        calls_(calls) {}

  grpc::Status PlanImage(grpc::ServerContext* context, const v1::PlanImageRequest* request,
                         v1::PlanImageResponse* response) override;
  grpc::Status ReadAgentPackage(grpc::ServerContext* context,
                                const v1::ReadAgentPackageRequest* request,
                                grpc::ServerWriter<v1::ReadAgentPackageResponse>* writer) override;

  grpc::Status HasArtifact(grpc::ServerContext* context, const v1::HasArtifactRequest* request,
                           v1::HasArtifactResponse* response) override;
  grpc::Status UploadArtifact(grpc::ServerContext* context,
                              grpc::ServerReader<v1::UploadArtifactRequest>* reader,
                              v1::UploadArtifactResponse* response) override;
  grpc::Status ReadArtifact(grpc::ServerContext* context, const v1::ReadArtifactRequest* request,
                            grpc::ServerWriter<v1::ReadArtifactResponse>* writer) override;
  grpc::Status KeepImage(grpc::ServerContext* context, const v1::KeepImageRequest* request,
                         v1::KeepImageResponse* response) override;
  grpc::Status ListImages(grpc::ServerContext* context, const v1::ListImagesRequest* request,
                          v1::ListImagesResponse* response) override;
  grpc::Status GetImage(grpc::ServerContext* context, const v1::GetImageRequest* request,
                        v1::GetImageResponse* response) override;
  grpc::Status PlanSigning(grpc::ServerContext* context, const v1::PlanSigningRequest* request,
                           v1::PlanSigningResponse* response) override;
  grpc::Status KeepSigned(grpc::ServerContext* context, const v1::KeepSignedRequest* request,
                          v1::KeepSignedResponse* response) override;
  grpc::Status VerifyImage(grpc::ServerContext* context, const v1::VerifyImageRequest* request,
                           v1::VerifyImageResponse* response) override;
  grpc::Status PinImage(grpc::ServerContext* context, const v1::PinImageRequest* request,
                        v1::PinImageResponse* response) override;
  grpc::Status DeleteImage(grpc::ServerContext* context, const v1::DeleteImageRequest* request,
                           v1::DeleteImageResponse* response) override;

 private:
  absl::Status Has(const v1::HasArtifactRequest& request, v1::HasArtifactResponse& response);
  absl::Status Upload(grpc::ServerContext& context,
                      grpc::ServerReader<v1::UploadArtifactRequest>& reader);
  absl::Status Plan(const v1::PlanImageRequest& request, v1::PlanImageResponse& response);
  absl::Status ReadPackage(grpc::ServerContext& context, const v1::ReadAgentPackageRequest& request,
                           grpc::ServerWriter<v1::ReadAgentPackageResponse>& writer);
  absl::Status Read(grpc::ServerContext& context, const v1::ReadArtifactRequest& request,
                    grpc::ServerWriter<v1::ReadArtifactResponse>& writer);
  absl::Status List(const v1::ListImagesRequest& request, v1::ListImagesResponse& response);
  absl::Status Get(const v1::GetImageRequest& request, v1::GetImageResponse& response);
  absl::Status PlanSigned(const v1::PlanSigningRequest& request, v1::PlanSigningResponse& response);
  absl::Status Verify(grpc::ServerContext& context, const v1::VerifyImageRequest& request,
                      v1::VerifyImageResponse& response);

  image::ImageBuilds& builds_;
  image::Images& images_;
  image::ImageStore& store_;
  boot::Boots& boots_;
  Clock& clock_;
  OpenCalls& calls_;
};

}  // namespace muster::controller
