// `muster image` against a whole controller.
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/connection.h"
#include "cli/image/image_transfer.h"
#include "common/base/digest.h"
#include "common/sys/archive/decompress.h"
#include "common/value/image_files.h"
#include "common/value/image_manifest.h"
#include "common/value/image_manifest_text.h"
#include "tests/integration/cli/admin_cli_fixture.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ImageTest : public AdminCliTest {
 protected:
  // A folder as a builder leaves it, whose image has this root, and the file /etc/motd with this
  // text.
  v1::ImageManifest MakeFolder(const std::string& name, const std::string& root,
                               const std::string& motd, const std::string& version) {
    fs::create_directories(folder_ / name);
    const std::string files = WriteImageFiles({{.type = 'd', .mode = 0755, .path = "/"},
                                               {.type = 'f',
                                                .mode = 0644,
                                                .size = motd.size(),
                                                .sha256 = Sha256Hex(motd),
                                                .path = "/etc/motd"}})
                                  .value();
    v1::ImageManifest manifest;
    manifest.set_name("worker");
    manifest.set_kind("ram");
    manifest.set_distribution("debian12");
    manifest.set_architecture("amd64");
    v1::ImagePackage& package = *manifest.add_packages();
    package.set_name("slurmd");
    package.set_version(version);
    package.set_architecture("amd64");
    for (const auto& [artifact, content] :
         {std::pair(std::string(kFilesArtifact), sys::CompressGz(files).value()),
          {std::string(kRootArtifact), root}}) {
      Write(absl::StrCat(name, "/", artifact), content);
      v1::ImageArtifact& each = *manifest.add_artifacts();
      each.set_name(artifact);
      each.set_sha256(Sha256Hex(content));
      each.set_size_bytes(content.size());
    }
    Write(absl::StrCat(name, "/manifest.json"), WriteImageManifest(manifest).value());
    return manifest;
  }
  int Image(std::vector<std::string> words) {
    words.insert(words.begin(), "image");
    return Muster(AddImage, words);
  }
  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string BuildOf(const v1::ImageManifest& manifest) const {
    return BuildName(manifest.name(), ImageDigest(manifest));
  }
  fs::path ArtifactPath(const std::string& content) const {
    const std::string sha256 = Sha256Hex(content);
    return fs::path(config_.state_directory) / "images/artifacts" / sha256.substr(0, 2) /
           sha256.substr(2);
  }
  // Larger than the pieces in which it is sent.
  const std::string root_ = std::string(3 << 20, 'a') + "end";
};

TEST_F(ImageTest, AnImageGoesAroundUnchanged) {
  const v1::ImageManifest manifest = MakeFolder("built", root_, "hello", "1");
  EXPECT_EQ(Image({"list"}), kExitClean);
  EXPECT_THAT(out_, HasSubstr("no images"));
  EXPECT_EQ(Image({"import", Path("built")}), kExitClean) << err_;
  EXPECT_THAT(out_, HasSubstr(absl::StrCat("image ", BuildOf(manifest), " is kept")));
  EXPECT_EQ(Image({"import", Path("built")}), kExitClean) << err_;  // changes nothing
  EXPECT_EQ(Image({"list"}), kExitClean);
  EXPECT_THAT(out_, AllOf(HasSubstr("worker"), HasSubstr("newest"), HasSubstr("debian12 amd64")));
  EXPECT_EQ(Image({"list", "worker"}), kExitClean);
  EXPECT_EQ(Image({"list", "workers"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("did you mean 'worker'?"));
  EXPECT_EQ(Image({"show", "worker", "--packages"}), kExitClean);
  EXPECT_THAT(out_, AllOf(HasSubstr(ImageDigest(manifest)), HasSubstr("slurmd"),
                          HasSubstr("by admin:ann")));

  EXPECT_EQ(Image({"export", "worker", "-o", Path("exported")}), kExitClean) << err_;
  for (const std::string name : {"manifest.json", "files", "root.squashfs"})
    EXPECT_EQ(ContentOf(folder_ / "exported" / name), ContentOf(folder_ / "built" / name)) << name;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "exported"), fs::directory_iterator()),
            3);
  EXPECT_EQ(Image({"export", "worker", "-o", Path("exported")}), kExitError);
  EXPECT_THAT(err_, HasSubstr("exists already"));

  EXPECT_EQ(Image({"delete", BuildOf(manifest)}), kExitClean) << err_;
  EXPECT_THAT(out_, HasSubstr("3145 kB freed"));
  EXPECT_FALSE(fs::exists(ArtifactPath(root_)));
  EXPECT_EQ(Image({"import", Path("exported")}), kExitClean) << err_;
  EXPECT_EQ(Image({"verify", "worker"}), kExitClean) << err_ << out_;
}

TEST_F(ImageTest, NothingIsSentOfAFolderThatIsNotWhole) {
  MakeFolder("built", root_, "hello", "1");
  std::string damaged = root_;
  damaged.back() = 'X';
  Write("built/root.squashfs", damaged);
  EXPECT_EQ(Image({"import", Path("built")}), kExitError);
  EXPECT_THAT(err_, HasSubstr("root.squashfs has another digest"));
  Write("built/root.squashfs", "short");
  EXPECT_EQ(Image({"import", Path("built")}), kExitError);
  EXPECT_THAT(err_, HasSubstr("has 5 bytes"));
  fs::remove(folder_ / "built/root.squashfs");
  fs::create_symlink("files", folder_ / "built/root.squashfs");
  EXPECT_EQ(Image({"import", Path("built")}), kExitError);
  EXPECT_EQ(Image({"import", Path("nowhere")}), kExitError);
  EXPECT_THAT(err_, HasSubstr("manifest.json does not exist"));
  Write("built/manifest.json", "{\"name\": \"x\", \"more\": 1}");
  EXPECT_EQ(Image({"import", Path("built")}), kExitError);
  EXPECT_THAT(err_, HasSubstr("not an image's manifest"));
  for (const auto& each :
       fs::recursive_directory_iterator(fs::path(config_.state_directory) / "images/artifacts"))
    EXPECT_FALSE(each.is_regular_file()) << each.path();
}

TEST_F(ImageTest, AnExportThatFailsLeavesNoFolder) {
  MakeFolder("built", root_, "hello", "1");
  ASSERT_EQ(Image({"import", Path("built")}), kExitClean) << err_;
  std::string damaged = root_;
  damaged.back() = 'X';
  std::ofstream(ArtifactPath(root_)) << damaged;
  EXPECT_EQ(Image({"export", "worker", "-o", Path("exported")}), kExitError);
  EXPECT_THAT(err_, HasSubstr("image verify"));
  for (const auto& each : fs::directory_iterator(folder_))
    EXPECT_THAT(each.path().filename().string(), Not(HasSubstr("export")));
  EXPECT_EQ(Image({"verify", "worker"}), kExitError);
  EXPECT_THAT(out_, HasSubstr("root.squashfs has the digest"));
  // Importing it again mends it.
  EXPECT_EQ(Image({"import", Path("built")}), kExitClean) << err_;
  EXPECT_EQ(Image({"verify", "worker"}), kExitClean) << out_;
  EXPECT_EQ(Image({"export", "worker"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("-o FOLDER"));
}

TEST_F(ImageTest, TwoBuildsAreCompared) {
  const v1::ImageManifest before = MakeFolder("before", root_, "hello", "1");
  const v1::ImageManifest after = MakeFolder("after", root_ + "more", "hello, world", "2");
  ASSERT_EQ(Image({"import", Path("before")}), kExitClean) << err_;
  ASSERT_EQ(Image({"import", Path("after")}), kExitClean) << err_;
  EXPECT_EQ(Image({"diff", BuildOf(before), BuildOf(after)}), kExitClean) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("~ 1 -> 2: slurmd"), HasSubstr("~ /etc/motd: 5 B -> 12 B"),
                          HasSubstr("1 file changed, 0 new, 0 gone")));
  EXPECT_EQ(Image({"diff", BuildOf(before), BuildOf(before)}), kExitClean) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("no package differs"), HasSubstr("no file differs")));
}

TEST_F(ImageTest, APinDecidesWhatTheNameMeans) {
  const v1::ImageManifest before = MakeFolder("before", root_, "hello", "1");
  const v1::ImageManifest after = MakeFolder("after", root_, "hello", "2");
  ASSERT_EQ(Image({"import", Path("before")}), kExitClean) << err_;
  ASSERT_EQ(Image({"import", Path("after")}), kExitClean) << err_;
  EXPECT_EQ(Image({"show", "worker"}), kExitClean);
  EXPECT_THAT(out_, HasSubstr(BuildOf(after)));
  EXPECT_EQ(Image({"pin", BuildOf(before)}), kExitClean) << err_;
  EXPECT_EQ(out_, absl::StrCat("'worker' means ", BuildOf(before), "\n"));
  EXPECT_EQ(Image({"show", "worker"}), kExitClean);
  EXPECT_THAT(out_, AllOf(HasSubstr(BuildOf(before)), HasSubstr(", pinned")));
  EXPECT_EQ(Image({"unpin", BuildOf(after)}), kExitError);
  EXPECT_EQ(Image({"unpin", "worker"}), kExitClean) << err_;
  EXPECT_EQ(Image({"show", "worker"}), kExitClean);
  EXPECT_THAT(out_, HasSubstr(BuildOf(after)));
}

TEST_F(ImageTest, AShellCompletesNamesAndBuilds) {
  const v1::ImageManifest manifest = MakeFolder("built", root_, "hello", "1");
  ASSERT_EQ(Image({"import", Path("built")}), kExitClean) << err_;
  CLI::App app("", "muster");
  Context context;
  context.clock = &clock_;
  context.config_directory = folder_ / "admin";
  AddImage(app, context);
  EXPECT_THAT(CompleteWords(app, context, {"--", "image", "show", "wor"}),
              ElementsAre("worker", BuildOf(manifest)));
}

TEST_F(ImageTest, ABuilderUploadsWhatIsMissing) {
  const v1::ImageManifest manifest = MakeFolder("built", root_, "hello", "1");
  const auto connection = Connection::Open((folder_ / "admin").string(), absl::Now()).value();
  std::vector<std::string> sent;
  const OnTransfer note = [&](const TransferStep& step) {
    const std::string artifact(step.artifact);
    if (step.what == "sending" && (sent.empty() || sent.back() != artifact))
      sent.push_back(artifact);
    EXPECT_LE(step.done, step.total);
  };
  const absl::StatusOr<v1::Image> image = UploadImage(*connection, Path("built"), manifest, note);
  ASSERT_OK(image);
  EXPECT_EQ(image->digest(), ImageDigest(manifest));
  EXPECT_THAT(sent, ElementsAre("files", "root.squashfs"));
  sent.clear();
  ASSERT_OK(UploadImage(*connection, Path("built"), manifest, note));
  EXPECT_THAT(sent, IsEmpty());
  v1::ImageManifest wrong = manifest;
  wrong.set_kind("tape");
  EXPECT_THAT(UploadImage(*connection, Path("built"), wrong, note),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kind")));
}

TEST_F(ImageTest, WhatGoesDuringALongUploadIsSentAgain) {
  const v1::ImageManifest manifest = MakeFolder("built", root_, "hello", "1");
  const std::string files = ContentOf(folder_ / "built/files");
  const auto connection = Connection::Open((folder_ / "admin").string(), absl::Now()).value();
  int removed = 0;
  const OnTransfer sweep = [&](const TransferStep& step) {
    if (step.what == "sending" && step.artifact == kRootArtifact && removed == 0)
      removed += fs::remove(ArtifactPath(files)) ? 1 : 0;
  };
  ASSERT_OK(UploadImage(*connection, Path("built"), manifest, sweep));
  EXPECT_EQ(removed, 1);
  EXPECT_EQ(Image({"verify", "worker"}), kExitClean) << out_;
}

}  // namespace
}  // namespace muster::cli
