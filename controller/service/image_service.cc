#include "controller/service/image_service.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/unique_fd.h"
#include "common/value/image_manifest.h"
#include "controller/audit/audit.h"
#include "controller/boot/boots.h"
#include "controller/image/image_builds.h"
#include "controller/image/image_store.h"
#include "controller/image/images.h"
#include "controller/session/caller.h"
#include "controller/session/open_calls.h"

namespace muster::controller {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

absl::Status CheckDigest(absl::string_view sha256) {
  if (IsSha256(sha256)) return absl::OkStatus();
  return absl::InvalidArgumentError("an artifact must be named by its SHA-256 in lower-case hex");
}

// Sends the bytes from `at` to `size`. `what` is for errors.
template <typename Piece>
absl::Status SendFile(int file, uint64_t at, uint64_t size, const std::string& what,
                      grpc::ServerWriter<Piece>& writer) {
  Piece piece;
  while (at < size) {
    std::string& data = *piece.mutable_data();
    data.resize(std::min<uint64_t>(kPieceBytes, size - at));
    const ssize_t count = pread(file, data.data(), data.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, absl::StrCat("reading ", what));
    if (count == 0) return absl::DataLossError(absl::StrCat(what, " ends after ", at, " bytes"));
    data.resize(static_cast<size_t>(count));
    at += static_cast<uint64_t>(count);
    if (!writer.Write(piece)) return absl::CancelledError("the reader has gone");
  }
  return absl::OkStatus();
}

}  // namespace

grpc::Status ImageService::PlanImage(grpc::ServerContext*, const v1::PlanImageRequest* request,
                                     v1::PlanImageResponse* response) {
  return ToGrpc(Plan(*request, *response));
}

grpc::Status ImageService::ReadAgentPackage(
    grpc::ServerContext* context, const v1::ReadAgentPackageRequest* request,
    grpc::ServerWriter<v1::ReadAgentPackageResponse>* writer) {
  return ToGrpc(ReadPackage(*context, *request, *writer));
}

grpc::Status ImageService::HasArtifact(grpc::ServerContext*, const v1::HasArtifactRequest* request,
                                       v1::HasArtifactResponse* response) {
  return ToGrpc(Has(*request, *response));
}

grpc::Status ImageService::UploadArtifact(grpc::ServerContext* context,
                                          grpc::ServerReader<v1::UploadArtifactRequest>* reader,
                                          v1::UploadArtifactResponse*) {
  return ToGrpc(Upload(*context, *reader));
}

grpc::Status ImageService::ReadArtifact(grpc::ServerContext* context,
                                        const v1::ReadArtifactRequest* request,
                                        grpc::ServerWriter<v1::ReadArtifactResponse>* writer) {
  return ToGrpc(Read(*context, *request, *writer));
}

grpc::Status ImageService::KeepImage(grpc::ServerContext* context,
                                     const v1::KeepImageRequest* request,
                                     v1::KeepImageResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) -> absl::Status {
    ASSIGN_OR_RETURN(*response->mutable_image(), images_.Keep(request->manifest(), actor));
    return absl::OkStatus();
  });
}

grpc::Status ImageService::ListImages(grpc::ServerContext*, const v1::ListImagesRequest* request,
                                      v1::ListImagesResponse* response) {
  return ToGrpc(List(*request, *response));
}

grpc::Status ImageService::GetImage(grpc::ServerContext*, const v1::GetImageRequest* request,
                                    v1::GetImageResponse* response) {
  return ToGrpc(Get(*request, *response));
}

grpc::Status ImageService::PlanSigning(grpc::ServerContext*, const v1::PlanSigningRequest* request,
                                       v1::PlanSigningResponse* response) {
  return ToGrpc(PlanSigned(*request, *response));
}

grpc::Status ImageService::KeepSigned(grpc::ServerContext* context,
                                      const v1::KeepSignedRequest* request,
                                      v1::KeepSignedResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) -> absl::Status {
    ASSIGN_OR_RETURN(const auto image, store_.FindBuild(request->image()));
    ASSIGN_OR_RETURN(const std::string planned, boots_.CommandLineOf(*image));
    ASSIGN_OR_RETURN(*response->mutable_image(),
                     images_.KeepSigned(*image, request->signed_kernel(), planned, actor));
    return absl::OkStatus();
  });
}

grpc::Status ImageService::VerifyImage(grpc::ServerContext* context,
                                       const v1::VerifyImageRequest* request,
                                       v1::VerifyImageResponse* response) {
  return ToGrpc(Verify(*context, *request, *response));
}

grpc::Status ImageService::PinImage(grpc::ServerContext* context,
                                    const v1::PinImageRequest* request,
                                    v1::PinImageResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) -> absl::Status {
    ASSIGN_OR_RETURN(*response->mutable_image(),
                     images_.Pin(request->image(), request->pinned(), actor));
    return absl::OkStatus();
  });
}

grpc::Status ImageService::DeleteImage(grpc::ServerContext* context,
                                       const v1::DeleteImageRequest* request,
                                       v1::DeleteImageResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) -> absl::Status {
    ASSIGN_OR_RETURN(const uint64_t freed, images_.Delete(request->image(), actor));
    response->set_freed_bytes(freed);
    return absl::OkStatus();
  });
}

absl::Status ImageService::Plan(const v1::PlanImageRequest& request,
                                v1::PlanImageResponse& response) {
  ASSIGN_OR_RETURN(response, builds_.Plan(request));
  return absl::OkStatus();
}

absl::Status ImageService::ReadPackage(grpc::ServerContext& context,
                                       const v1::ReadAgentPackageRequest& request,
                                       grpc::ServerWriter<v1::ReadAgentPackageResponse>& writer) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  const OpenCalls::Entry open_call = calls_.Add(caller.identity, &context);
  ASSIGN_OR_RETURN(const std::string path, builds_.AgentPackage(request.sha256()));
  const sys::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!file.valid() || fstat(file.get(), &info) != 0)
    return ErrnoStatus(errno, absl::StrCat("reading ", path));
  return SendFile<v1::ReadAgentPackageResponse>(file.get(), 0, static_cast<uint64_t>(info.st_size),
                                                path, writer);
}

absl::Status ImageService::Has(const v1::HasArtifactRequest& request,
                               v1::HasArtifactResponse& response) {
  RETURN_IF_ERROR(CheckDigest(request.sha256()));
  response.set_present(store_.artifacts().Promise(request.sha256(), clock_.Now()));
  return absl::OkStatus();
}

absl::Status ImageService::Upload(grpc::ServerContext& context,
                                  grpc::ServerReader<v1::UploadArtifactRequest>& reader) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  const OpenCalls::Entry open_call = calls_.Add(caller.identity, &context);
  v1::UploadArtifactRequest part;
  if (!reader.Read(&part) || !part.has_header())
    return absl::InvalidArgumentError("an upload must begin with the artifact's header");
  const v1::ArtifactHeader header = part.header();
  // Somebody else was quicker with the same artifact: it need not be sent to its end.
  if (store_.artifacts().Promise(header.sha256(), clock_.Now())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<image::ArtifactUpload> upload,
                   store_.artifacts().Begin(header.sha256(), header.size_bytes()));
  while (reader.Read(&part)) {
    if (part.part_case() != v1::UploadArtifactRequest::kData)
      return absl::InvalidArgumentError("only data may follow the artifact's header");
    RETURN_IF_ERROR(upload->Append(part.data()));
  }
  if (context.IsCancelled()) return absl::CancelledError("the upload was interrupted");
  return upload->Finish(clock_.Now());
}

absl::Status ImageService::Read(grpc::ServerContext& context,
                                const v1::ReadArtifactRequest& request,
                                grpc::ServerWriter<v1::ReadArtifactResponse>& writer) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  const OpenCalls::Entry open_call = calls_.Add(caller.identity, &context);
  RETURN_IF_ERROR(CheckDigest(request.sha256()));
  ASSIGN_OR_RETURN(const sys::UniqueFd file, store_.artifacts().OpenFile(request.sha256()));
  ASSIGN_OR_RETURN(const uint64_t size, store_.artifacts().Size(request.sha256()));
  if (request.offset() > size)
    return absl::OutOfRangeError(
        absl::StrCat("the artifact has ", size, " bytes, and ", request.offset(), " is beyond"));
  return SendFile<v1::ReadArtifactResponse>(file.get(), request.offset(), size,
                                            absl::StrCat("artifact ", request.sha256()), writer);
}

absl::Status ImageService::List(const v1::ListImagesRequest& request,
                                v1::ListImagesResponse& response) {
  if (!request.name().empty()) {
    if (const std::string fault = CheckImageName(request.name()); !fault.empty())
      return absl::InvalidArgumentError(fault);
  }
  for (v1::Image& image : store_.List(request.name())) *response.add_images() = std::move(image);
  return absl::OkStatus();
}

absl::Status ImageService::Get(const v1::GetImageRequest& request, v1::GetImageResponse& response) {
  ASSIGN_OR_RETURN(const auto image, store_.Find(request.image()));
  *response.mutable_image() = store_.Describe(*image);
  return absl::OkStatus();
}

absl::Status ImageService::PlanSigned(const v1::PlanSigningRequest& request,
                                      v1::PlanSigningResponse& response) {
  ASSIGN_OR_RETURN(const auto image, store_.Find(request.image()));
  ASSIGN_OR_RETURN(*response.mutable_command_line(), boots_.CommandLineOf(*image));
  *response.mutable_image() = store_.Describe(*image);
  return absl::OkStatus();
}

absl::Status ImageService::Verify(grpc::ServerContext& context,
                                  const v1::VerifyImageRequest& request,
                                  v1::VerifyImageResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  const OpenCalls::Entry open_call = calls_.Add(caller.identity, &context);
  ASSIGN_OR_RETURN(const auto image, store_.Find(request.image()));
  response.set_digest(image->digest());
  ASSIGN_OR_RETURN(std::vector<std::string> faults,
                   store_.Verify(*image, [&context] { return context.IsCancelled(); }));
  for (std::string& fault : faults) response.add_faults(std::move(fault));
  return absl::OkStatus();
}

}  // namespace muster::controller
