#include "cli/image/image_transfer.h"

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/watch/terminal.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/value/image_manifest.h"
#include "muster/v1/image.grpc.pb.h"

namespace muster::cli {
namespace {

using ImageStub = v1::ImageService::Stub;

// The controller reads the sizes of all artifacts, and writes a file.
constexpr absl::Duration kKeepTimeout = absl::Minutes(2);

// One sends everything, one what has gone meanwhile, one finds that all is there.
constexpr int kMaxRounds = 3;

void SetVerb(const Connection& connection, grpc::ClientContext& context) {
  if (!connection.verb().empty()) context.AddMetadata(kVerbMetadata, connection.verb());
}

absl::Status SendArtifact(const Connection& connection, ImageStub& stub, const std::string& folder,
                          const v1::ImageArtifact& artifact, const OnTransfer& on_transfer) {
  ASSIGN_OR_RETURN(ArtifactFile file, ArtifactFile::Open(folder, artifact));
  grpc::ClientContext context;
  SetVerb(connection, context);
  v1::UploadArtifactResponse response;
  const auto writer = stub.UploadArtifact(&context, &response);
  v1::UploadArtifactRequest part;
  part.mutable_header()->set_sha256(artifact.sha256());
  part.mutable_header()->set_size_bytes(artifact.size_bytes());
  TransferStep step = {"sending", artifact.name(), 0, artifact.size_bytes()};
  absl::Status trouble;
  for (bool is_open = writer->Write(part); is_open;) {
    trouble = InterruptFlag::IsSet()
                  ? absl::CancelledError("interrupted; what was sent whole is not sent again")
                  : file.Read(*part.mutable_data());
    if (!trouble.ok() || part.data().empty()) break;
    step.done += part.data().size();
    is_open = writer->Write(part);
    on_transfer(step);
  }
  if (!trouble.ok()) context.TryCancel();
  writer->WritesDone();
  const absl::Status sent = connection.Convert(writer->Finish());
  return Annotate(trouble.ok() ? sent : trouble, absl::StrCat("sending ", artifact.name()));
}

// Calls `append` for each piece.
absl::Status Receive(const Connection& connection, const v1::ImageArtifact& artifact,
                     const OnTransfer& on_transfer,
                     absl::FunctionRef<absl::Status(const std::string& data)> append) {
  ImageStub stub(connection.channel());
  grpc::ClientContext context;
  SetVerb(connection, context);
  v1::ReadArtifactRequest request;
  request.set_sha256(artifact.sha256());
  const auto reader = stub.ReadArtifact(&context, request);
  v1::ReadArtifactResponse piece;
  TransferStep step = {"receiving", artifact.name(), 0, artifact.size_bytes()};
  absl::Status trouble;
  while (trouble.ok() && reader->Read(&piece)) {
    trouble = InterruptFlag::IsSet() ? absl::CancelledError("interrupted") : append(piece.data());
    step.done += piece.data().size();
    on_transfer(step);
  }
  if (!trouble.ok()) context.TryCancel();
  const absl::Status received = connection.Convert(reader->Finish());
  return Annotate(trouble.ok() ? received : trouble, absl::StrCat("receiving ", artifact.name()));
}

}  // namespace

absl::StatusOr<v1::Image> UploadImage(const Connection& connection, const std::string& folder,
                                      const v1::ImageManifest& manifest,
                                      const OnTransfer& on_transfer) {
  RETURN_IF_ERROR(CheckImageManifest(manifest));
  RETURN_IF_ERROR(CheckImageFolder(folder, manifest, on_transfer));
  ImageStub stub(connection.channel());
  // The controller keeps what no image names for an hour, and a large artifact may take longer than
  // that: after the last one each is asked for again.
  bool is_complete = false;
  for (int round = 0; round < kMaxRounds && !is_complete; ++round) {
    is_complete = true;
    for (const v1::ImageArtifact& artifact : manifest.artifacts()) {
      v1::HasArtifactRequest question;
      question.set_sha256(artifact.sha256());
      v1::HasArtifactResponse answer;
      RETURN_IF_ERROR(Call(connection, stub, &ImageStub::HasArtifact, question, &answer));
      if (answer.present()) continue;
      RETURN_IF_ERROR(SendArtifact(connection, stub, folder, artifact, on_transfer));
      is_complete = false;
    }
  }
  v1::KeepImageRequest request;
  *request.mutable_manifest() = manifest;
  v1::KeepImageResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &ImageStub::KeepImage, request, &response, kKeepTimeout));
  return response.image();
}

absl::StatusOr<v1::Image> UploadSigned(const Connection& connection, const v1::Image& image,
                                       const std::string& folder, const v1::SignedKernel& kernel,
                                       const OnTransfer& on_transfer) {
  ImageStub stub(connection.channel());
  for (const v1::ImageArtifact& artifact : SignedArtifacts(kernel))
    RETURN_IF_ERROR(SendArtifact(connection, stub, folder, artifact, on_transfer));
  v1::KeepSignedRequest request;
  request.set_image(absl::StrCat(image.manifest().name(), "@", image.digest()));
  *request.mutable_signed_kernel() = kernel;
  v1::KeepSignedResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &ImageStub::KeepSigned, request, &response));
  return response.image();
}

absl::Status DownloadImage(const Connection& connection, const v1::Image& image,
                           const std::string& folder, const OnTransfer& on_transfer) {
  // Names become files: what comes from elsewhere is checked before.
  RETURN_IF_ERROR(CheckImageManifest(image.manifest()));
  if (ImageDigest(image.manifest()) != image.digest())
    return absl::DataLossError("the controller's manifest of the image has another digest");
  ASSIGN_OR_RETURN(const std::unique_ptr<ImageFolderWriter> writer,
                   ImageFolderWriter::Make(folder));
  for (const v1::ImageArtifact& artifact : image.manifest().artifacts()) {
    RETURN_IF_ERROR(writer->BeginArtifact(artifact));
    RETURN_IF_ERROR(Receive(connection, artifact, on_transfer,
                            [&](const std::string& data) { return writer->Append(data); }));
    RETURN_IF_ERROR(writer->EndArtifact());
  }
  return writer->Finish(image.manifest());
}

absl::StatusOr<std::string> ReadArtifact(const Connection& connection,
                                         const v1::ImageArtifact& artifact, size_t max_bytes,
                                         const OnTransfer& on_transfer) {
  const absl::Status too_large = absl::ResourceExhaustedError(
      absl::StrCat("it has more than ", max_bytes, " bytes, so it is not a list of files"));
  if (artifact.size_bytes() > max_bytes) return Annotate(too_large, artifact.name());
  std::string content;
  RETURN_IF_ERROR(Receive(connection, artifact, on_transfer, [&](const std::string& data) {
    if (data.size() > max_bytes - content.size()) return too_large;
    content += data;
    return absl::OkStatus();
  }));
  if (Sha256Hex(content) == artifact.sha256()) return content;
  return absl::DataLossError(absl::StrCat(artifact.name(), " came with another digest; ",
                                          "`muster image verify` says what is wrong"));
}

}  // namespace muster::cli
