#include "cli/render/report/image_report.h"

#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/image/image_diff.h"
#include "common/base/proto_time.h"
#include "muster/v1/image.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kImagesShownAt = absl::FromUnixSeconds(1'900'000'000);

v1::Image MakeImage(const std::string& name, char digit, absl::Duration age) {
  v1::Image image;
  image.set_digest(std::string(64, digit));
  *image.mutable_kept_at() = ToTimestamp(kImagesShownAt - age);
  image.set_kept_by("admin:alice");
  image.set_packages(2);
  v1::ImageManifest& manifest = *image.mutable_manifest();
  manifest.set_name(name);
  manifest.set_kind("ram");
  manifest.set_distribution("debian12");
  manifest.set_architecture("amd64");
  manifest.set_snapshot("2026-11-26");
  manifest.add_kernel_arguments("console=ttyS0");
  manifest.add_kernel_arguments("quiet");
  for (const char* const package : {"libc6", "slurmd"}) {
    v1::ImagePackage& each = *manifest.add_packages();
    each.set_name(package);
    each.set_version("1.0");
    each.set_architecture("amd64");
    each.set_installed_bytes(6'000'000);
  }
  v1::ImageRole& role = *manifest.add_roles();
  role.set_name("slurm_worker");
  role.set_sha256(std::string(64, digit));
  for (const auto& [artifact, size] :
       {std::pair("kernel", 8'000'000), {"root.squashfs", 900'000'000}}) {
    v1::ImageArtifact& each = *manifest.add_artifacts();
    each.set_name(artifact);
    each.set_sha256(std::string(64, digit));
    each.set_size_bytes(static_cast<uint64_t>(size));
  }
  v1::ImageBuild& build = *manifest.mutable_build();
  *build.mutable_at() = ToTimestamp(kImagesShownAt - age - absl::Hours(1));
  build.set_by("admin:bob");
  build.set_on("build1");
  build.set_muster_version("0.1.0");
  build.set_bundle_sha256(std::string(64, 'c'));
  build.set_revision("v1-3-gabc");
  return image;
}

TEST(ImageReport, ListsWhichBuildANameMeans) {
  EXPECT_THAT(RenderImages({}, kImagesShownAt), Said());
  v1::ListImagesResponse response;
  *response.add_images() = MakeImage("login", 'a', absl::Hours(1));
  *response.add_images() = MakeImage("login", 'b', absl::Hours(30));
  *response.add_images() = MakeImage("worker", 'c', absl::Hours(2));
  *response.add_images() = MakeImage("worker", 'd', absl::Hours(50));
  response.mutable_images(3)->set_pinned(true);
  EXPECT_THAT(RenderImages(response, kImagesShownAt), Said());
}

TEST(ImageReport, ShowsWhatIsInIt) {
  const v1::Image image = MakeImage("worker", 'a', absl::Hours(1));
  EXPECT_THAT(RenderImage(image, kImagesShownAt, /*with_packages=*/false), Said());
  EXPECT_THAT(RenderImage(image, kImagesShownAt, /*with_packages=*/true), HasSubstr("slurmd"));
  v1::Image bare = image;
  bare.mutable_manifest()->clear_build();
  bare.mutable_manifest()->clear_snapshot();
  bare.mutable_manifest()->clear_roles();
  bare.set_pinned(true);
  EXPECT_THAT(RenderImage(bare, kImagesShownAt, /*with_packages=*/false), Said());
  EXPECT_THAT(RenderKeptImage(image), Said());
  // Not every package system says how much that is.
  for (v1::ImagePackage& package : *bare.mutable_manifest()->mutable_packages())
    package.clear_installed_bytes();
  EXPECT_THAT(RenderImage(bare, kImagesShownAt, /*with_packages=*/false),
              HasSubstr("packages  2\n"));
}

TEST(ImageReport, SaysWhatIsDamaged) {
  v1::VerifyImageResponse response;
  response.set_digest(std::string(64, 'a'));
  EXPECT_THAT(RenderVerifiedImage("worker", response), Said());
  response.add_faults("kernel is missing");
  response.add_faults("root.squashfs has 5 bytes, not 6");
  EXPECT_THAT(RenderVerifiedImage("worker", response), Said());
}

TEST(ImageReport, SaysHowFarATransferIs) {
  EXPECT_THAT(RenderTransfer("sending", "root.squashfs", 123'456'789, 2'000'000'000), Said());
}

// An image, and another one with everything changed.
ImageDiff MakeDiff(const v1::Image& before, const v1::Image& after, size_t max_files) {
  const std::string one = std::string(64, '1'), two = std::string(64, '2');
  ImageDiff diff = DiffImageManifests(before.manifest(), after.manifest());
  const std::string old_files =
      absl::StrCat("d 755 0 0 0 - /\nf 644 0 0 500 ", one, " /etc/content\n", "f 644 0 0 500 ", one,
                   " /etc/gone\n", "l 777 0 0 1 a /etc/link\n", "f 755 0 0 1 ", one, " /etc/mode\n",
                   "f 644 0 0 500 ", one, " /etc/same\n", "f 644 0 0 500 ", one, " /etc/size\n",
                   "d 755 0 0 0 - /etc/type\n");
  const std::string new_files = absl::StrCat(
      "d 755 0 0 0 - /\nf 644 0 0 500 ", two, " /etc/content\n", "l 777 0 0 1 b\\nc /etc/link\n",
      "f 4755 0 7 1 ", one, " /etc/mode\n", "f 644 0 0 20000 ", one, " /etc/new file\n",
      "f 644 0 0 500 ", one, " /etc/same\n", "f 644 0 0 600 ", two, " /etc/size\n",
      "l 777 0 0 1 x /etc/type\n");
  diff.files = DiffImageFiles(old_files, new_files, max_files).value();
  return diff;
}

TEST(ImageReport, ComparesTwoImages) {
  const v1::Image before = MakeImage("worker", 'a', absl::Hours(30));
  v1::Image after = MakeImage("worker", 'b', absl::Hours(1));
  v1::ImageManifest& manifest = *after.mutable_manifest();
  manifest.mutable_packages(0)->set_version("1.1");
  manifest.mutable_packages(1)->set_name("tool");
  manifest.mutable_roles(0)->set_sha256(std::string(64, 'e'));
  manifest.add_roles()->set_name("motd");
  manifest.mutable_roles(1)->set_sha256(std::string(64, 'f'));
  manifest.mutable_artifacts(0)->set_name("initrd");
  const ImageDiff diff = MakeDiff(before, after, 100);
  ASSERT_TRUE(diff.files.has_value());
  EXPECT_EQ(diff.files->added, 1u);
  EXPECT_EQ(diff.files->removed, 1u);
  EXPECT_EQ(diff.files->changed, 5u);
  EXPECT_THAT(RenderImageDiff(before, after, diff), Said());
  const nlohmann::ordered_json value = ImageDiffValue(before, after, diff);
  EXPECT_EQ(value["packages"].size(), 3u);
  EXPECT_EQ(value["roles"][0]["before"], nullptr);
  EXPECT_EQ(value["artifacts"].size(), 3u);
  EXPECT_EQ(value["files"]["changes"].size(), 7u);
  EXPECT_EQ(value["files"]["changes"][1]["path"], "/etc/gone");
  EXPECT_EQ(value["files"]["changes"][1]["after"], nullptr);
}

TEST(ImageReport, AnswersThatNothingDiffers) {
  const v1::Image image = MakeImage("worker", 'a', absl::Hours(1));
  ImageDiff diff = DiffImageManifests(image.manifest(), image.manifest());
  EXPECT_THAT(RenderImageDiff(image, image, diff), Said());
  EXPECT_EQ(ImageDiffValue(image, image, diff)["files"], nullptr);
  diff.files.emplace();
  EXPECT_THAT(RenderImageDiff(image, image, diff), HasSubstr("no file differs"));
}

TEST(ImageReport, CountsFilesBeyondTheBound) {
  const v1::Image image = MakeImage("worker", 'a', absl::Hours(1));
  const std::string text = RenderImageDiff(image, image, MakeDiff(image, image, 2));
  EXPECT_THAT(text, HasSubstr("… and 5 more; --files lists all\n"));
  EXPECT_THAT(text, Not(HasSubstr("/etc/link")));
  EXPECT_THAT(text, HasSubstr("5 files changed, 1 new, 1 gone\n"));
}

TEST(ImageReport, NamesTheListThatCannotBeRead) {
  const absl::StatusOr<ImageFilesDiff> diff = DiffImageFiles("", "d 755 0 0 0 - usr\n", 10);
  ASSERT_FALSE(diff.ok());
  EXPECT_THAT(std::string(diff.status().message()), Said());
}

TEST(ImageReport, NothingOfAnImageControlsTheTerminal) {
  const v1::Image image = MakeImage("worker", 'a', absl::Hours(1));
  ImageDiff diff;
  diff.files.emplace();
  diff.files->added = 1;
  diff.files->files.push_back(
      {std::nullopt, ImageFile{.type = 'l', .target = "a\x1b[2Jb", .path = "/a\n+ /b\x1b[31m"}});
  const std::string text = RenderImageDiff(image, image, diff);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\n+ /b")));
}

}  // namespace
}  // namespace muster::cli
