#include "controller/image/image_store.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/digest.h"
#include "common/value/image_manifest.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::controller::image {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kImagesBound = 1'000'000;

class ImageStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<ImageStore>> opened =
        ImageStore::Open(folder_.path(), kImagesBound);
    ASSERT_OK(opened);
    store_ = *std::move(opened);
  }

  std::string Upload(const std::string& content) {
    const std::string sha256 = Sha256Hex(content);
    auto upload = store_->artifacts().Begin(sha256, content.size()).value();
    EXPECT_OK(upload->Append(content));
    EXPECT_OK(upload->Finish(now_));
    return sha256;
  }
  // With the artifacts "kernel" and "root.squashfs", which are these texts.
  static v1::ImageManifest Manifest(const std::string& name, const std::string& kernel,
                                    const std::string& root) {
    v1::ImageManifest manifest;
    manifest.set_name(name);
    manifest.set_kind("ram");
    manifest.set_distribution("debian12");
    manifest.set_architecture("amd64");
    v1::ImagePackage& package = *manifest.add_packages();
    package.set_name("slurmd");
    package.set_version("1");
    package.set_architecture("amd64");
    for (const auto& [artifact, content] : {std::pair("kernel", kernel), {"root.squashfs", root}}) {
      v1::ImageArtifact& each = *manifest.add_artifacts();
      each.set_name(artifact);
      each.set_sha256(Sha256Hex(content));
      each.set_size_bytes(content.size());
    }
    return manifest;
  }
  // Uploads and keeps one, a minute after the one before.
  v1::Image Keep(const std::string& name, const std::string& kernel, const std::string& root) {
    Upload(kernel);
    Upload(root);
    now_ += absl::Minutes(1);
    const auto kept = store_->Keep(Manifest(name, kernel, root), now_, "admin:alice");
    EXPECT_OK(kept);
    return **kept;
  }
  bool Has(const std::string& content) { return store_->artifacts().Size(Sha256Hex(content)).ok(); }
  std::string ManifestPath(const v1::Image& image) const {
    return absl::StrCat(folder_.path(), "/manifests/", image.digest());
  }
  std::string ArtifactPath(const std::string& content) const {
    const std::string sha256 = Sha256Hex(content);
    return absl::StrCat(folder_.path(), "/artifacts/", sha256.substr(0, 2), "/", sha256.substr(2));
  }
  absl::StatusOr<std::vector<std::string>> Verify(const v1::Image& image) {
    return store_->Verify(image, [] { return false; });
  }

  muster::testing::TempDir folder_;
  absl::Time now_ = absl::Now();
  std::unique_ptr<ImageStore> store_;
};

TEST_F(ImageStoreTest, ImagesOutliveTheProcess) {
  const v1::Image first = Keep("worker", "kernel", "root 1");
  const v1::Image second = Keep("worker", "kernel", "root 2");
  const v1::Image login = Keep("login", "kernel", "root 3");
  ASSERT_OK(store_->Pin(first, true));
  Open();
  EXPECT_THAT(store_->faults(), IsEmpty());
  const std::vector<v1::Image> all = store_->List("");
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].digest(), login.digest());
  EXPECT_EQ(all[1].digest(), second.digest());
  EXPECT_EQ(all[2].digest(), first.digest());
  EXPECT_TRUE(all[2].pinned());
  EXPECT_FALSE(all[1].pinned());
  EXPECT_EQ(all[0].packages(), 1u);
  EXPECT_THAT(all[0].manifest().packages(), IsEmpty());
  EXPECT_EQ(all[0].kept_by(), "admin:alice");
  EXPECT_THAT(store_->List("login"), SizeIs(1));
  EXPECT_THAT(store_->List("other"), IsEmpty());
  const v1::Image whole = store_->Describe(**store_->Find("login"));
  EXPECT_THAT(whole.manifest().packages(), SizeIs(1));
  EXPECT_EQ(ImageDigest(whole.manifest()), login.digest());
}

TEST_F(ImageStoreTest, ANameMeansTheNewestBuildOrThePinnedOne) {
  const v1::Image first = Keep("worker", "kernel", "root 1");
  const v1::Image second = Keep("worker", "kernel", "root 2");
  EXPECT_EQ((*store_->Find("worker"))->digest(), second.digest());
  ASSERT_OK(store_->Pin(first, true));
  EXPECT_EQ((*store_->Find("worker"))->digest(), first.digest());
  EXPECT_EQ((*store_->Find(absl::StrCat("worker@", second.digest().substr(0, 8))))->digest(),
            second.digest());
  ASSERT_OK(store_->Pin(second, false));  // it is not, so nothing changes
  EXPECT_EQ((*store_->Find("worker"))->digest(), first.digest());
  ASSERT_OK(store_->Pin(second, true));  // one build of a name at most
  EXPECT_EQ((*store_->Find("worker"))->digest(), second.digest());
  ASSERT_OK(store_->Pin(second, false));
  const v1::Image third = Keep("worker", "kernel", "root 3");
  EXPECT_EQ((*store_->Find("worker"))->digest(), third.digest());
}

TEST_F(ImageStoreTest, WhatIsNotThereIsNotFound) {
  const v1::Image image = Keep("worker", "kernel", "root");
  EXPECT_THAT(store_->Find("workers"), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(store_->Find("worker@00000000"), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(store_->Find("../worker"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(store_->FindBuild("worker"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_OK(store_->FindBuild(absl::StrCat("worker@", image.digest())));
  // By another name it is another image.
  EXPECT_THAT(store_->Find(absl::StrCat("other@", image.digest())),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no image 'other'")));
}

TEST_F(ImageStoreTest, AnImageWaitsForItsArtifacts) {
  const v1::ImageManifest manifest = Manifest("worker", "kernel", "root");
  EXPECT_THAT(store_->Keep(manifest, now_, "admin:alice"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  Upload("kernel");
  Upload("root");
  v1::ImageManifest wrong = manifest;
  wrong.mutable_artifacts(1)->set_size_bytes(5);
  EXPECT_THAT(store_->Keep(wrong, now_, "admin:alice"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_TRUE(store_->artifacts().Promise(Sha256Hex("root"), now_));  // it is the manifest's fault
  v1::ImageManifest nameless = manifest;
  nameless.clear_name();
  EXPECT_THAT(store_->Keep(nameless, now_, "admin:alice"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(store_->List(""), IsEmpty());
  ASSERT_OK(store_->Keep(manifest, now_, "admin:alice"));
  EXPECT_THAT(store_->Keep(manifest, now_, "admin:bob"),
              StatusIs(absl::StatusCode::kAlreadyExists, ::testing::_));
  EXPECT_EQ(store_->List("")[0].kept_by(), "admin:alice");
}

TEST_F(ImageStoreTest, WhatAnotherImageNamesStays) {
  const v1::Image first = Keep("worker", "kernel", "root 1");
  const v1::Image second = Keep("worker", "kernel", "root 2");
  ASSERT_OK(store_->Pin(second, true));
  EXPECT_EQ(store_->Remove(first, now_).value(), 6u);
  EXPECT_FALSE(Has("root 1"));
  EXPECT_TRUE(Has("kernel"));
  EXPECT_THAT(store_->Remove(second, now_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is pinned")));
  ASSERT_OK(store_->Pin(second, false));
  EXPECT_EQ(store_->Remove(second, now_).value(), 12u);
  EXPECT_FALSE(Has("kernel"));
  Open();
  EXPECT_THAT(store_->List(""), IsEmpty());
  EXPECT_THAT(store_->faults(), IsEmpty());
}

TEST_F(ImageStoreTest, KeepingAnImageAgainHoldsNothingBackFromItsDeletion) {
  const v1::Image image = Keep("worker", "kernel", "root");
  EXPECT_TRUE(store_->artifacts().Promise(Sha256Hex("root"), now_));
  EXPECT_FALSE(store_->Keep(image.manifest(), now_, "admin:alice").ok());
  EXPECT_TRUE(store_->artifacts().Promise(Sha256Hex("kernel"), now_));  // somebody else's upload
  EXPECT_EQ(store_->Remove(image, now_).value(), 4u);
  EXPECT_FALSE(Has("root"));
  EXPECT_TRUE(Has("kernel"));
}

TEST_F(ImageStoreTest, TheSweepSparesWhatImagesName) {
  Keep("worker", "kernel", "root");
  Upload("of an interrupted upload");
  EXPECT_EQ(store_->Sweep(now_).value(), 0u);
  EXPECT_EQ(store_->Sweep(absl::Now() + absl::Hours(2)).value(), 24u);
  EXPECT_TRUE(Has("kernel"));
  EXPECT_TRUE(Has("root"));
}

TEST_F(ImageStoreTest, DamagedArtifactsAreNamedAndComeBackByAnotherUpload) {
  const v1::Image image = Keep("worker", "kernel", "root");
  EXPECT_THAT(Verify(image).value(), IsEmpty());
  std::filesystem::resize_file(ArtifactPath("kernel"), 3);
  std::ofstream(ArtifactPath("root")) << "ROOT";
  EXPECT_THAT(Verify(image).value(), ElementsAre(Said(), Said()));
  std::filesystem::remove(ArtifactPath("root"));
  Open();
  EXPECT_THAT(store_->faults(), SizeIs(2));
  EXPECT_THAT(store_->List(""), SizeIs(1));
  EXPECT_FALSE(store_->artifacts().Promise(Sha256Hex("kernel"), now_));
  Upload("kernel");
  Upload("root");
  EXPECT_THAT(Verify(image).value(), IsEmpty());
}

TEST_F(ImageStoreTest, ADamagedManifestIsNamedAndItsArtifactsStay) {
  const v1::Image damaged = Keep("worker", "kernel 1", "root 1");
  const v1::Image good = Keep("worker", "kernel 2", "root 2");
  ASSERT_OK(store_->Pin(damaged, true));
  std::ofstream(ManifestPath(damaged)) << "\xff\xff";
  std::ofstream(folder_.path() + "/manifests/README") << "mine";
  std::ofstream(folder_.path() + "/pins/login") << "mine";
  std::ofstream(folder_.path() + "/artifacts/README") << "mine";
  Open();
  ASSERT_THAT(store_->faults(), SizeIs(5));
  // The pin must not silently mean another build.
  EXPECT_THAT(store_->Find("worker"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is pinned to")));
  EXPECT_OK(store_->Find(absl::StrCat("worker@", good.digest())));
  EXPECT_THAT(store_->List(""), SizeIs(1));
  EXPECT_EQ(store_->Sweep(absl::Now() + absl::Hours(2)).value(), 0u);
  EXPECT_TRUE(Has("root 1"));
  EXPECT_TRUE(std::filesystem::exists(ManifestPath(damaged)));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/manifests/README"));

  std::filesystem::remove(ManifestPath(damaged));
  Open();
  EXPECT_EQ(store_->Sweep(absl::Now() + absl::Hours(2)).value(), 14u);
  ASSERT_OK(store_->Pin(good, true));
  EXPECT_EQ((*store_->Find("worker"))->digest(), good.digest());
}

TEST_F(ImageStoreTest, ASignedKernelImageIsKeptBesideTheManifest) {
  const v1::Image image = Keep("worker", "kernel", "root");
  v1::SignedKernel kernel;
  kernel.mutable_artifact()->set_name("signed.efi");
  kernel.mutable_artifact()->set_sha256(Sha256Hex("signed 1"));
  kernel.mutable_artifact()->set_size_bytes(8);
  kernel.set_certificate_sha256(Sha256Hex("certificate"));
  kernel.set_command_line("quiet");
  EXPECT_THAT(store_->KeepSigned(image, kernel),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("upload it first")));
  Upload("signed 1");
  ASSERT_OK(store_->KeepSigned(image, kernel));
  const auto signed_one = store_->Find("worker").value();
  EXPECT_EQ(signed_one->digest(), image.digest());
  EXPECT_EQ(signed_one->signed_kernel().command_line(), "quiet");
  EXPECT_EQ(FindArtifact(*signed_one, "signed.efi")->sha256(), Sha256Hex("signed 1"));
  EXPECT_EQ(FindArtifact(image, "signed.efi"), nullptr);

  // It is of the image after the next start, too, and goes with what is signed instead.
  Open();
  EXPECT_THAT(store_->faults(), IsEmpty());
  EXPECT_EQ(store_->Sweep(absl::Now() + absl::Hours(2)).value(), 0u);
  kernel.mutable_artifact()->set_sha256(Upload("signed 2"));
  ASSERT_OK(store_->KeepSigned(image, kernel));
  EXPECT_EQ(store_->Sweep(absl::Now() + absl::Hours(2)).value(), 8u);
  EXPECT_TRUE(Has("signed 2"));
  std::ofstream(ArtifactPath("signed 2")) << "signed 3";
  EXPECT_THAT(Verify(*store_->Find("worker").value()).value(),
              ElementsAre(HasSubstr("signed.efi has the digest")));
  kernel.mutable_artifact()->set_name("kernel");
  EXPECT_THAT(
      store_->KeepSigned(image, kernel),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("signed_kernel.artifact.name")));
  EXPECT_OK(store_->Remove(*store_->Find("worker").value(), now_));
  EXPECT_FALSE(Has("signed 2"));
  kernel.mutable_artifact()->set_name("signed.efi");
  EXPECT_THAT(store_->KeepSigned(image, kernel), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(ImageStoreTest, TheLoaderOfADiskIsKeptAndGoesWithTheKernelImage) {
  Upload("kernel");
  Upload("root");
  v1::ImageManifest manifest = Manifest("stateful", "kernel", "root");
  manifest.set_kind("disk");
  manifest.mutable_disk()->set_device("blank");
  manifest.mutable_disk()->set_esp_mib(512);
  manifest.mutable_disk()->set_root_mib(1024);
  const v1::Image image = **store_->Keep(manifest, now_, "admin:alice");
  v1::SignedKernel kernel;
  const auto describe = [](v1::ImageArtifact& artifact, const std::string& name,
                           const std::string& content) {
    artifact.set_name(name);
    artifact.set_sha256(Sha256Hex(content));
    artifact.set_size_bytes(content.size());
  };
  describe(*kernel.mutable_artifact(), "signed.efi", "signed");
  describe(*kernel.mutable_loader(), "loader.efi", "loader");
  kernel.set_certificate_sha256(Sha256Hex("certificate"));
  Upload("signed");
  EXPECT_THAT(store_->KeepSigned(image, kernel),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("loader.efi")));
  Upload("loader");
  ASSERT_OK(store_->KeepSigned(image, kernel));
  Open();
  EXPECT_EQ(store_->Sweep(absl::Now() + absl::Hours(2)).value(), 0u);
  std::ofstream(ArtifactPath("loader")) << "lOader";
  EXPECT_THAT(Verify(*store_->Find("stateful").value()).value(),
              ElementsAre(HasSubstr("loader.efi has the digest")));
  EXPECT_OK(store_->Remove(*store_->Find("stateful").value(), now_));
  EXPECT_FALSE(Has("loader"));
}

TEST_F(ImageStoreTest, WhatAKilledWriterLeftGoesAtTheNextStart) {
  const v1::Image image = Keep("worker", "kernel", "root");
  const std::vector<std::string> debris = {
      absl::StrCat(folder_.path(), "/manifests/.", image.digest(), ".muster-7k3m9q2x"),
      absl::StrCat(folder_.path(), "/pins/.worker.muster-7k3m9q2x")};
  for (const std::string& path : debris) std::ofstream(path) << "half";
  Open();
  EXPECT_THAT(store_->faults(), IsEmpty());
  for (const std::string& path : debris) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  EXPECT_THAT(store_->List(""), SizeIs(1));
}

TEST_F(ImageStoreTest, AManifestOfAnotherDigestIsNotServed) {
  const v1::Image image = Keep("worker", "kernel", "root");
  v1::Image forged = image;
  forged.mutable_manifest()->mutable_packages(0)->set_version("2");
  std::ofstream(ManifestPath(image)) << forged.SerializeAsString();
  Open();
  EXPECT_THAT(store_->List(""), IsEmpty());
  ASSERT_THAT(store_->faults(), SizeIs(1));
  EXPECT_THAT(store_->faults()[0], HasSubstr("its content has another digest"));
}

}  // namespace
}  // namespace muster::controller::image
