// Images over the wire.
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/value/image_manifest.h"
#include "controller/image/artifact_store.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/image.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::Status From(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

class ImageFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    stub_ = As(Role::kAdmin, "alice");
  }
  std::unique_ptr<v1::ImageService::Stub> As(Role role, const std::string& name) {
    return v1::ImageService::NewStub(Connect(controller_->port(), Issue(role, name)));
  }

  // Announces the digest and size of `content`, and sends `pieces`.
  absl::Status Upload(const std::string& content, const std::vector<std::string>& pieces) {
    grpc::ClientContext context;
    v1::UploadArtifactResponse response;
    const auto writer = stub_->UploadArtifact(&context, &response);
    v1::UploadArtifactRequest part;
    part.mutable_header()->set_sha256(Sha256Hex(content));
    part.mutable_header()->set_size_bytes(content.size());
    bool is_open = writer->Write(part);
    for (const std::string& piece : pieces) {
      part.set_data(piece);
      is_open = is_open && writer->Write(part);
    }
    writer->WritesDone();
    return From(writer->Finish());
  }
  absl::Status Upload(const std::string& content) { return Upload(content, {content}); }

  absl::StatusOr<std::string> Download(const std::string& sha256, uint64_t offset = 0) {
    grpc::ClientContext context;
    v1::ReadArtifactRequest request;
    request.set_sha256(sha256);
    request.set_offset(offset);
    const auto reader = stub_->ReadArtifact(&context, request);
    v1::ReadArtifactResponse piece;
    std::string content;
    while (reader->Read(&piece)) content += piece.data();
    const absl::Status status = From(reader->Finish());
    if (!status.ok()) return status;
    return content;
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (v1::ImageService::Stub::*method)(grpc::ClientContext*,
                                                                               const Request&,
                                                                               Response*),
                                const Request& request, v1::ImageService::Stub* stub = nullptr) {
    grpc::ClientContext context;
    Response response;
    const absl::Status status =
        From(((stub == nullptr ? *stub_ : *stub).*method)(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  bool Has(const std::string& content) {
    v1::HasArtifactRequest request;
    request.set_sha256(Sha256Hex(content));
    return Call(&v1::ImageService::Stub::HasArtifact, request).value().present();
  }
  static v1::ImageManifest Manifest(const std::string& root) {
    v1::ImageManifest manifest;
    manifest.set_name("worker");
    manifest.set_kind("ram");
    manifest.set_distribution("debian12");
    manifest.set_architecture("amd64");
    v1::ImagePackage& package = *manifest.add_packages();
    package.set_name("slurmd");
    package.set_version("1");
    package.set_architecture("amd64");
    v1::ImageArtifact& artifact = *manifest.add_artifacts();
    artifact.set_name(kRootArtifact);
    artifact.set_sha256(Sha256Hex(root));
    artifact.set_size_bytes(root.size());
    return manifest;
  }
  absl::StatusOr<v1::Image> Keep(const std::string& root) {
    v1::KeepImageRequest request;
    *request.mutable_manifest() = Manifest(root);
    const auto response = Call(&v1::ImageService::Stub::KeepImage, request);
    if (!response.ok()) return response.status();
    return response->image();
  }
  absl::StatusOr<v1::Image> Get(const std::string& name) {
    v1::GetImageRequest request;
    request.set_image(name);
    const auto response = Call(&v1::ImageService::Stub::GetImage, request);
    if (!response.ok()) return response.status();
    return response->image();
  }
  absl::Status Pin(const std::string& name, bool pinned) {
    v1::PinImageRequest request;
    request.set_image(name);
    request.set_pinned(pinned);
    return Call(&v1::ImageService::Stub::PinImage, request).status();
  }
  absl::StatusOr<uint64_t> Delete(const std::string& name) {
    v1::DeleteImageRequest request;
    request.set_image(name);
    const auto response = Call(&v1::ImageService::Stub::DeleteImage, request);
    if (!response.ok()) return response.status();
    return response->freed_bytes();
  }
  std::vector<std::string> Faults(const std::string& name) {
    v1::VerifyImageRequest request;
    request.set_image(name);
    const auto response = Call(&v1::ImageService::Stub::VerifyImage, request).value();
    return {response.faults().begin(), response.faults().end()};
  }
  std::vector<std::string> Audited() {
    v1::ListEventsResponse events;
    grpc::ClientContext context;
    const auto channel = Connect(controller_->port(), Issue(Role::kAdmin, "alice"));
    EXPECT_TRUE(v1::EventService::NewStub(channel)->ListEvents(&context, {}, &events).ok());
    std::vector<std::string> lines;
    for (const v1::Event& event : events.events()) {
      if (event.action().substr(0, 6) == "image.")
        lines.push_back(absl::StrCat(event.actor(), " ", event.action(), " ", event.subject()));
    }
    return lines;
  }
  std::filesystem::path ArtifactPath(const std::string& content) const {
    const std::string sha256 = Sha256Hex(content);
    return std::filesystem::path(config_.state_directory) / "images/artifacts" /
           sha256.substr(0, 2) / sha256.substr(2);
  }
  size_t FilesOfArtifacts() const {
    size_t files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(config_.state_directory) / "images/artifacts"))
      files += each.is_regular_file();
    return files;
  }

  std::unique_ptr<v1::ImageService::Stub> stub_;
};

TEST_F(ImageFlowTest, AnImageIsKeptAndReadAsItWasSent) {
  // Larger than one piece each way.
  std::string root(5 << 20, '\0');
  for (size_t i = 0; i < root.size(); ++i) root[i] = static_cast<char>(i * 2654435761u >> 24);
  EXPECT_FALSE(Has(root));
  EXPECT_THAT(Keep(root), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  std::vector<std::string> pieces;
  for (size_t at = 0; at < root.size(); at += 1 << 20) pieces.push_back(root.substr(at, 1 << 20));
  ASSERT_OK(Upload(root, pieces));
  EXPECT_TRUE(Has(root));
  const absl::StatusOr<v1::Image> kept = Keep(root);
  ASSERT_OK(kept);
  EXPECT_EQ(kept->digest(), ImageDigest(Manifest(root)));
  EXPECT_EQ(kept->kept_by(), "admin:alice");
  EXPECT_EQ(kept->packages(), 1u);
  EXPECT_TRUE(kept->has_kept_at());
  EXPECT_FALSE(kept->pinned());
  EXPECT_EQ(Download(Sha256Hex(root)).value(), root);
  EXPECT_EQ(Download(Sha256Hex(root), root.size() - 7).value(), root.substr(root.size() - 7));
  EXPECT_EQ(Download(Sha256Hex(root), root.size()).value(), "");
  EXPECT_THAT(Download(Sha256Hex(root), root.size() + 1),
              StatusIs(absl::StatusCode::kOutOfRange, Said()));
  EXPECT_THAT(Download(Sha256Hex("nothing")), StatusIs(absl::StatusCode::kNotFound, Said()));

  controller_.reset();  // and by another process
  Start();
  stub_ = As(Role::kAdmin, "bob");
  EXPECT_EQ(Get("worker")->digest(), kept->digest());
  EXPECT_EQ(Keep(root)->kept_by(), "admin:alice");  // it stays as it is
  EXPECT_THAT(Faults("worker"), IsEmpty());
}

TEST_F(ImageFlowTest, WhatIsNotAsAnnouncedLeavesNothing) {
  EXPECT_THAT(Upload("content", {"conten"}), StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_THAT(Upload("content", {"CONTENT"}), StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_THAT(Upload("content", {"content", "!"}),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  const std::string large((1 << 20) + 1, 'x');
  EXPECT_THAT(Upload(large), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Upload(""), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  {
    grpc::ClientContext context;
    v1::UploadArtifactResponse response;
    const auto writer = stub_->UploadArtifact(&context, &response);
    v1::UploadArtifactRequest part;
    part.set_data("content");
    writer->Write(part);
    writer->WritesDone();
    EXPECT_THAT(From(writer->Finish()), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  EXPECT_EQ(FilesOfArtifacts(), 0u);
}

TEST_F(ImageFlowTest, AnUploadThatIsCancelledLeavesNothing) {
  grpc::ClientContext context;
  v1::UploadArtifactResponse response;
  const auto writer = stub_->UploadArtifact(&context, &response);
  v1::UploadArtifactRequest part;
  part.mutable_header()->set_sha256(Sha256Hex("content"));
  part.mutable_header()->set_size_bytes(7);
  ASSERT_TRUE(writer->Write(part));
  part.set_data("con");
  ASSERT_TRUE(writer->Write(part));
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (FilesOfArtifacts() == 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(FilesOfArtifacts(), 1u);
  context.TryCancel();
  writer->Finish();
  while (FilesOfArtifacts() > 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(FilesOfArtifacts(), 0u);
  EXPECT_FALSE(Has("content"));
}

TEST_F(ImageFlowTest, SeveralMaySendTheSameArtifactAtOnce) {
  const std::string content(3 << 20, 'x');
  std::vector<std::string> pieces(3, std::string(1 << 20, 'x'));
  std::vector<absl::Status> ends(3);
  std::vector<std::thread> senders;
  for (absl::Status& end : ends) senders.emplace_back([&] { end = Upload(content, pieces); });
  for (std::thread& sender : senders) sender.join();
  for (const absl::Status& end : ends) EXPECT_OK(end);
  EXPECT_EQ(FilesOfArtifacts(), 1u);
  EXPECT_EQ(Download(Sha256Hex(content)).value(), content);
}

TEST_F(ImageFlowTest, EachChangeIsInTheAuditLogOnce) {
  ASSERT_OK(Upload("root 1"));
  ASSERT_OK(Upload("root 2"));
  const std::string first = absl::StrCat("worker@", Keep("root 1")->digest());
  const std::string second = absl::StrCat("worker@", Keep("root 2")->digest());
  ASSERT_OK(Keep("root 2"));
  EXPECT_THAT(Pin("worker", true), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  ASSERT_OK(Pin(first, true));
  ASSERT_OK(Pin(first, true));
  EXPECT_TRUE(Get("worker")->pinned());
  EXPECT_THAT(Delete(first),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is pinned")));
  ASSERT_OK(Pin(first, false));
  EXPECT_EQ(Delete(first).value(), 6u);
  EXPECT_THAT(Delete(first), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(Delete("worker"), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  const std::string a = first.substr(0, 19), b = second.substr(0, 19);
  EXPECT_THAT(Audited(),
              ::testing::UnorderedElementsAre(absl::StrCat("admin:alice image.keep ", a),
                                              absl::StrCat("admin:alice image.keep ", b),
                                              absl::StrCat("admin:alice image.pin ", a),
                                              absl::StrCat("admin:alice image.unpin ", a),
                                              absl::StrCat("admin:alice image.delete ", a)));
}

TEST_F(ImageFlowTest, ADamagedArtifactIsFoundAndSentAgain) {
  ASSERT_OK(Upload("root"));
  ASSERT_OK(Keep("root"));
  std::ofstream(ArtifactPath("root")) << "ROOT";
  EXPECT_THAT(Faults("worker"), ElementsAre(Said()));
  EXPECT_FALSE(Has("root"));
  ASSERT_OK(Upload("root"));
  EXPECT_THAT(Faults("worker"), IsEmpty());
}

TEST_F(ImageFlowTest, ViewersLookAndAdministratorsChange) {
  ASSERT_OK(Upload("root"));
  const std::string build = absl::StrCat("worker@", Keep("root")->digest());
  const auto viewer = As(Role::kViewer, "eve");
  v1::ListImagesResponse list =
      Call(&v1::ImageService::Stub::ListImages, v1::ListImagesRequest(), viewer.get()).value();
  ASSERT_THAT(list.images(), SizeIs(1));
  EXPECT_THAT(list.images(0).manifest().packages(), IsEmpty());
  EXPECT_EQ(list.images(0).packages(), 1u);
  const auto op = As(Role::kOperator, "otto");
  v1::DeleteImageRequest request;
  request.set_image(build);
  EXPECT_THAT(Call(&v1::ImageService::Stub::DeleteImage, request, op.get()),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  v1::HasArtifactRequest has;
  has.set_sha256(Sha256Hex("root"));
  EXPECT_THAT(Call(&v1::ImageService::Stub::HasArtifact, has, op.get()),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

TEST_F(ImageFlowTest, TheBoundOfTheConfigurationHolds) {
  controller_.reset();
  config_.image_gib = "0";
  Start();
  stub_ = As(Role::kAdmin, "alice");
  EXPECT_THAT(Upload("root"), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
}

}  // namespace
}  // namespace muster::controller
