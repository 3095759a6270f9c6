#include "common/value/image_manifest.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>

#include "common/base/digest.h"
#include "muster/v1/image.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

v1::ImageManifest Manifest() {
  v1::ImageManifest manifest;
  manifest.set_name("debian-worker");
  manifest.set_kind("ram");
  manifest.set_distribution("debian12");
  manifest.set_architecture("amd64");
  manifest.set_snapshot("2026-11-26");
  manifest.add_kernel_arguments("console=ttyS0,115200");
  for (const char* const name : {"bash", "slurmd"}) {
    v1::ImagePackage& package = *manifest.add_packages();
    package.set_name(name);
    package.set_version("1:2.0~rc1-3+deb12u1");
    package.set_architecture("amd64");
    package.set_installed_bytes(7'000'000);
  }
  v1::ImageRole& role = *manifest.add_roles();
  role.set_name("slurm_worker");
  role.set_sha256(Sha256Hex("role"));
  for (const char* const name : {"files", "kernel", "root.squashfs"}) {
    v1::ImageArtifact& artifact = *manifest.add_artifacts();
    artifact.set_name(name);
    artifact.set_sha256(Sha256Hex(name));
    artifact.set_size_bytes(1000);
  }
  manifest.mutable_build()->set_by("admin:alice");
  manifest.mutable_build()->set_bundle_sha256(Sha256Hex("site"));
  manifest.mutable_build()->set_revision("v1.2-3-gabcdef");
  return manifest;
}

TEST(ImageManifest, TheDigestIsThatOfEverythingButTheBuild) {
  const v1::ImageManifest manifest = Manifest();
  v1::ImageManifest other = manifest;
  other.mutable_build()->set_by("admin:bob");
  other.clear_build();
  EXPECT_EQ(ImageDigest(other), ImageDigest(manifest));
  EXPECT_TRUE(IsSha256(ImageDigest(manifest)));
  // It is in the files and the audit logs of clusters: it must never change.
  EXPECT_EQ(ImageDigest(manifest),
            "7baf60dc79a8592d53cd4fb10232ca190f5c9cd9f5d1578bb5afe326103e5964");
  other.mutable_packages(1)->set_version("2.1");
  EXPECT_NE(ImageDigest(other), ImageDigest(manifest));
}

TEST(ImageManifest, SortingMakesOneOrderOfAll) {
  v1::ImageManifest manifest = Manifest();
  manifest.mutable_packages()->SwapElements(0, 1);
  manifest.mutable_artifacts()->SwapElements(0, 2);
  EXPECT_FALSE(CheckImageManifest(manifest).ok());
  SortImageManifest(manifest);
  EXPECT_OK(CheckImageManifest(manifest));
  EXPECT_EQ(ImageDigest(manifest), ImageDigest(Manifest()));
}

TEST(ImageManifest, TwoVersionsOfAPackageMayBeThere) {
  v1::ImageManifest manifest = Manifest();  // as rpm keeps kernels
  *manifest.add_packages() = manifest.packages(1);
  EXPECT_FALSE(CheckImageManifest(manifest).ok());
  manifest.mutable_packages(2)->set_version("2:0");
  EXPECT_OK(CheckImageManifest(manifest));
}

struct Case {
  const char* name;
  std::function<void(v1::ImageManifest&)> spoil;
};

class ImageManifestFaultTest : public ::testing::TestWithParam<Case> {};

TEST_P(ImageManifestFaultTest, IsNamedByItsField) {
  v1::ImageManifest manifest = Manifest();
  ASSERT_OK(CheckImageManifest(manifest));
  GetParam().spoil(manifest);
  EXPECT_THAT(CheckImageManifest(manifest), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

INSTANTIATE_TEST_SUITE_P(
    Each, ImageManifestFaultTest,
    ::testing::Values(
        Case{"NoName", [](auto& m) { m.clear_name(); }},
        Case{"HiddenName", [](auto& m) { m.set_name("../x"); }},
        Case{"LongName", [](auto& m) { m.set_name(std::string(65, 'a')); }},
        Case{"Kind", [](auto& m) { m.set_kind("tape"); }},
        Case{"Distribution", [](auto& m) { m.set_distribution("debian 12"); }},
        Case{"Architecture", [](auto& m) { m.clear_architecture(); }},
        Case{"Snapshot", [](auto& m) { m.set_snapshot("a/b"); }},
        Case{"KernelArgument", [](auto& m) { m.add_kernel_arguments("quiet splash"); }},
        Case{"KernelArguments",
             [](auto& m) {
               for (int i = 0; i < 200; ++i) m.add_kernel_arguments("a");
             }},
        Case{"PackageName", [](auto& m) { m.mutable_packages(0)->set_name("a\nb"); }},
        Case{"PackageVersion", [](auto& m) { m.mutable_packages(1)->clear_version(); }},
        Case{"PackageArchitecture", [](auto& m) { m.mutable_packages(1)->set_architecture(""); }},
        Case{"PackageBytes",
             [](auto& m) { m.mutable_packages(0)->set_installed_bytes(~uint64_t{0}); }},
        Case{"PackageTwice", [](auto& m) { *m.add_packages() = m.packages(1); }},
        Case{"Packages",
             [](auto& m) {
               for (int i = 0; i < 30'000; ++i) m.add_packages();
             }},
        Case{"RoleDigest", [](auto& m) { m.mutable_roles(0)->set_sha256("ABC"); }},
        Case{"ArtifactName", [](auto& m) { m.mutable_artifacts(0)->set_name("a/b"); }},
        Case{"ArtifactTwice", [](auto& m) { m.mutable_artifacts(1)->set_name("files"); }},
        Case{"ArtifactManifest",
             [](auto& m) { m.mutable_artifacts(1)->set_name("manifest.json"); }},
        Case{"ArtifactSigned", [](auto& m) { m.mutable_artifacts(2)->set_name("signed.efi"); }},
        Case{"ArtifactLoader", [](auto& m) { m.mutable_artifacts(2)->set_name("loader.efi"); }},
        Case{"ArtifactDigest", [](auto& m) { m.mutable_artifacts(1)->set_sha256("x"); }},
        Case{"ArtifactEmpty", [](auto& m) { m.mutable_artifacts(1)->set_size_bytes(0); }},
        Case{"ArtifactLarge",
             [](auto& m) { m.mutable_artifacts(1)->set_size_bytes(kMaxArtifactBytes + 1); }},
        Case{"RamWithDisk", [](auto& m) { m.mutable_disk()->set_device("blank"); }},
        Case{"DiskWithout", [](auto& m) { m.set_kind("disk"); }},
        Case{"NoRoot", [](auto& m) { m.mutable_artifacts(2)->set_name("root.ext4"); }},
        Case{"BuildBy", [](auto& m) { m.mutable_build()->set_by("a\x1b[31m"); }},
        Case{"BuildBundle", [](auto& m) { m.mutable_build()->set_bundle_sha256("x"); }},
        Case{"BuildRevision",
             [](auto& m) { m.mutable_build()->set_revision(std::string(300, 'a')); }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ImageReference, NamesAnImageOrABuild) {
  const auto name = ParseImageReference("debian-worker");
  ASSERT_OK(name);
  EXPECT_EQ(name->name, "debian-worker");
  EXPECT_EQ(name->digest, "");
  const auto build = ParseImageReference("debian-worker@1a2b3c4d");
  ASSERT_OK(build);
  EXPECT_EQ(build->name, "debian-worker");
  EXPECT_EQ(build->digest, "1a2b3c4d");
  EXPECT_OK(ParseImageReference("a@" + std::string(64, 'f')));
}

TEST(ImageReference, RefusesAllElse) {
  for (const std::string& text :
       {std::string(""), std::string("@1a2b3c4d"), std::string("a@"), std::string("a@1a2b3c4"),
        std::string("a@1A2B3C4D"), std::string("a@1a2b3c4g"), std::string("a@1a2b3c4d@1a2b3c4d"),
        "a@" + std::string(65, 'f'), std::string("a b"), std::string("-a")}) {
    EXPECT_THAT(ParseImageReference(text), StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << text;
  }
}

TEST(SignedKernel, ADiskHasALoaderAndMemoryHasNone) {
  v1::SignedKernel kernel;
  kernel.set_certificate_sha256(std::string(64, 'c'));
  kernel.mutable_artifact()->set_name("signed.efi");
  kernel.mutable_artifact()->set_sha256(std::string(64, 'a'));
  kernel.mutable_artifact()->set_size_bytes(1);
  EXPECT_OK(CheckSignedKernel(kernel, "ram"));
  EXPECT_EQ(SignedArtifacts(kernel).size(), 1u);
  const auto names = [](const char* field) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field));
  };
  EXPECT_THAT(CheckSignedKernel(kernel, "disk"), names("signed_kernel.loader"));
  *kernel.mutable_loader() = kernel.artifact();
  EXPECT_THAT(CheckSignedKernel(kernel, "disk"), names("signed_kernel.loader.name"));
  kernel.mutable_loader()->set_name("loader.efi");
  EXPECT_OK(CheckSignedKernel(kernel, "disk"));
  EXPECT_EQ(SignedArtifacts(kernel).size(), 2u);
  EXPECT_THAT(CheckSignedKernel(kernel, "ram"), names("signed_kernel.loader"));
  kernel.mutable_loader()->set_size_bytes(0);
  EXPECT_THAT(CheckSignedKernel(kernel, "disk"), names("signed_kernel.loader.size_bytes"));
  kernel.mutable_loader()->set_size_bytes(1);
  kernel.mutable_loader()->clear_sha256();
  EXPECT_THAT(CheckSignedKernel(kernel, "disk"), names("signed_kernel.loader.sha256"));

  v1::Image image;
  *image.mutable_manifest() = Manifest();
  EXPECT_EQ(FindArtifact(image, "loader.efi"), nullptr);
  *image.mutable_signed_kernel() = kernel;
  EXPECT_EQ(FindArtifact(image, "loader.efi"), &image.signed_kernel().loader());
}

TEST(ImageManifest, BytesAndNamesForPeople) {
  EXPECT_EQ(ImageBytes(Manifest()), 3000u);
  EXPECT_EQ(BuildName("a", std::string(64, 'b')), "a@bbbbbbbbbbbb");
}

}  // namespace
}  // namespace muster
