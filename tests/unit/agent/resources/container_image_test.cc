#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "agent/resources/image_import.h"
#include "common/base/digest.h"
#include "common/sys/large_file.h"
#include "common/sys/process/process_control.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/temp_dir.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const char kDigest[] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

// Podman with a storage of names, ids and sizes.
class ContainerImageTest : public ResourceTest {
 protected:
  ContainerImageTest() {
    node_.processes.On("podman image inspect", [this](const sys::ProcessSpec& spec) {
      const auto it = images_.find(spec.argv.back());
      if (it == images_.end())
        return FakeProcessRunner::Prints(
            absl::StrCat("Error: ", spec.argv.back(), ": image not known\n"), 125);
      const bool is_size = absl::StrContains(absl::StrJoin(spec.argv, " "), "Size");
      return FakeProcessRunner::Prints(is_size ? "7937034\n" : it->second + "\n");
    });
    node_.processes.On("podman image rm", [this](const sys::ProcessSpec& spec) {
      images_.erase(spec.argv.back());
      return sys::ProcessResult{};
    });
    node_.processes.On("podman info", FakeProcessRunner::Prints(folder_.path() + "\n"));
    node_.processes.On("podman pull", [this](const sys::ProcessSpec& spec) {
      images_[spec.argv.back()] = "1dea";
      return FakeProcessRunner::Prints("Copying blob\n");
    });
    node_.processes.On("podman load", [this](const sys::ProcessSpec&) {
      images_[kName] = "1oaded" + std::to_string(++loads_);
      return FakeProcessRunner::Prints(absl::StrCat("Loaded image: ", kName, "\n"));
    });
  }

  static std::string Step(const std::string& spec) {
    return absl::StrCat("container_image { min_free_bytes: 1 ", spec, " }");
  }
  static std::string Pinned() {
    return absl::StrCat("image: 'registry.example:5000/lab/tool@sha256:", kDigest, "' ");
  }
  // A step for an archive of this content, which is on the node.
  std::string Loaded(const std::string& content) {
    std::ofstream(Archive(), std::ios::binary) << content;
    node_.files.AddFile(Archive(), content);
    return Step(absl::StrCat("runtime: CONTAINER_RUNTIME_PODMAN image: '", kName, "' archive: '",
                             Archive(), "' sha256: '", Sha256Hex(content), "'"));
  }
  std::string Archive() const { return folder_.path() + "/tool.tar"; }

  static constexpr char kName[] = "localhost/lab/tool:1";
  testing::TempDir folder_;
  std::map<std::string, std::string> images_;
  int loads_ = 0;
};

TEST_F(ContainerImageTest, PullsWhatIsNotThereAndRemovesWhatIs) {
  ExpectConverges(Step("runtime: CONTAINER_RUNTIME_PODMAN " + Pinned()), {"image"});
  EXPECT_THAT(images_, ::testing::SizeIs(1));
  EXPECT_THAT(observer_.output, HasSubstr("Copying blob\n"));
  ExpectConverges(Step("runtime: CONTAINER_RUNTIME_PODMAN state: PRESENCE_ABSENT " + Pinned()),
                  {"image"});
  EXPECT_THAT(images_, IsEmpty());
}

TEST_F(ContainerImageTest, TemporaryFilesAreBesideTheImagesAndGoAfterwards) {
  ExpectConverges(Step("runtime: CONTAINER_RUNTIME_PODMAN " + Pinned()), {"image"});
  const std::string scratch = folder_.path() + "/muster-import";
  bool found = false;
  for (const sys::ProcessSpec& spec : node_.processes.specs()) {
    if (spec.argv[1] != "pull") continue;
    found = true;
    EXPECT_EQ(spec.environment.at("TMPDIR"), scratch);
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(node_.files.Has(scratch));
}

TEST_F(ContainerImageTest, LoadsAnArchiveOnceAndAgainWhenTheNameMeansAnother) {
  const std::string step = Loaded("an archive");
  ExpectConverges(step, {"image"});
  EXPECT_EQ(loads_, 1);
  ExpectInSync(step);
  images_[kName] = "another";
  ExpectConverges(step, {"image"});
  EXPECT_EQ(loads_, 2);
  ExpectConverges(Loaded("a newer archive"), {"image"});
  EXPECT_EQ(loads_, 3);
}

TEST_F(ContainerImageTest, AnArchiveOfAnotherDigestIsNotImported) {
  const std::string step = Loaded("an archive");
  std::ofstream(Archive(), std::ios::binary) << "damaged";
  EXPECT_THAT(Make(step)->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing was imported")));
  EXPECT_EQ(loads_, 0);
}

TEST_F(ContainerImageTest, AnArchiveThatAUserCanChangeIsRefused) {
  const std::string step = Loaded("an archive");
  for (const auto& [mode, uid] : {std::pair(0644, 1000), std::pair(0664, 0), std::pair(0646, 0)}) {
    node_.files.AddFile(Archive(), "an archive", mode, uid);
    EXPECT_THAT(Make(step)->Apply(observer_),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("only root can change")));
  }
  EXPECT_EQ(loads_, 0);
}

TEST_F(ContainerImageTest, AnArchiveWithoutTheNameSaysWhatItHolds) {
  node_.processes.On("podman load", FakeProcessRunner::Prints("Loaded image: localhost/a:1\n"));
  EXPECT_THAT(Make(Loaded("an archive"))->Apply(observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("localhost/a:1")));
}

TEST_F(ContainerImageTest, CheckModeKnowsThatTheArchiveIsMissing) {
  const std::string step = Loaded("an archive");
  ASSERT_OK(node_.files.Remove(Archive(), false));
  EXPECT_THAT(Foreseen(*Make(step)), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("put it in place in an earlier task")));
}

TEST_F(ContainerImageTest, WithoutTheProgramAnEarlierStepMayBringIt) {
  const auto image = Make(Step("runtime: CONTAINER_RUNTIME_DOCKER " + Pinned()));
  EXPECT_THAT(image->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  node_.processes.On("docker image inspect",
                     FakeProcessRunner::Prints("Cannot connect to the Docker daemon\n", 1));
  EXPECT_THAT(image->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  node_.processes.On("docker image inspect",
                     FakeProcessRunner::Prints("[]\nError: No such image: x\n", 1));
  EXPECT_THAT(Fields(*image), ElementsAre("image"));
}

TEST_F(ContainerImageTest, WhatARegistryRefusesHasItsRemedy) {
  const auto image = Make(Step("runtime: CONTAINER_RUNTIME_PODMAN " + Pinned()));
  for (const char* said :
       {"manifest unknown", "unauthorized: authentication required", "x509: unknown authority",
        "Digest did not match, expected sha256:1, got sha256:2", "connection refused"}) {
    node_.processes.On("podman pull",
                       FakeProcessRunner::Prints(absl::StrCat("Error: ", said, "\n"), 125));
    EXPECT_THAT(image->Apply(observer_),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(Said(), HasSubstr("from the registry registry.example:5000"))));
  }
}

TEST_F(ContainerImageTest, AnImageAboveItsLimitIsRemovedAgain) {
  const auto image = Make(Step("runtime: CONTAINER_RUNTIME_PODMAN max_bytes: 7937033 " + Pinned()));
  EXPECT_THAT(image->Apply(observer_), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_THAT(images_, IsEmpty());
}

TEST_F(ContainerImageTest, NothingStartsWithoutRoom) {
  for (const char* budget : {"min_free_bytes: 9000000000000000000",
                             "min_free_bytes: 1 max_bytes: 9000000000000000000"}) {
    const auto image = Make(absl::StrCat("container_image { runtime: CONTAINER_RUNTIME_PODMAN ",
                                         Pinned(), budget, " }"));
    EXPECT_THAT(image->Apply(observer_), StatusIs(absl::StatusCode::kResourceExhausted,
                                                  HasSubstr("must stay free (min_free_bytes)")));
  }
  EXPECT_THAT(node_.processes.commands(), Not(Contains(HasSubstr("pull"))));
}

std::atomic<uint64_t> free_now;

TEST_F(ContainerImageTest, AnImportStopsBeforeTheDiskIsFull) {
  free_now = uint64_t{2} << 30;
  v1::ContainerImageResource spec;
  spec.set_image(absl::StrCat("registry.example/tool@sha256:", kDigest));
  spec.set_min_free_bytes(uint64_t{1} << 30);
  bool stopped = false;
  node_.processes.On("fill", [&](const sys::ProcessSpec& process) {
    free_now = uint64_t{1} << 20;
    for (int i = 0; i < 5000 && !stopped; ++i) {
      node_.clock.Advance(absl::Seconds(1));
      stopped = process.control->Take().stop_after.has_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return sys::ProcessResult{.stopped = true};  // as podman ends, with 0
  });
  const ImageImport import = {
      .what = "pulling it",
      .argv = {"fill"},
      .folder = "/var/lib/images",
      .free_bytes = [](const std::string&) -> absl::StatusOr<uint64_t> { return free_now.load(); }};
  EXPECT_THAT(RunImport(spec, import, node_.context, observer_),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_TRUE(stopped);
}

TEST_F(ContainerImageTest, EnrootKeepsAFileThatUsersRead) {
  const std::string path = folder_.path() + "/tool.sqsh";
  node_.files.AddDirectory(folder_.path());
  std::string uri;
  node_.processes.On("enroot import --output", [&](const sys::ProcessSpec& spec) {
    uri = spec.argv.back();
    std::ofstream(spec.argv[3]) << "squashfs";
    node_.files.AddFile(spec.argv[3], "squashfs");
    return sys::ProcessResult{};
  });
  const auto image =
      Make(Step(absl::StrCat("runtime: CONTAINER_RUNTIME_ENROOT path: '", path, "' ", Pinned())));
  EXPECT_THAT(Fields(*image), ElementsAre("image"));
  ASSERT_OK(image->Apply(observer_));
  EXPECT_EQ(uri, absl::StrCat("docker://registry.example:5000#lab/tool:sha256:", kDigest));
  EXPECT_EQ(sys::Sha256OfFile(path).value(), Sha256Hex("squashfs"));
}

TEST_F(ContainerImageTest, EnrootsImageIsAFileOfRoots) {
  const auto image =
      Make(Step("runtime: CONTAINER_RUNTIME_ENROOT path: '/home/ann/tool.sqsh' " + Pinned()));
  EXPECT_THAT(image->Foresee(*std::make_unique<std::vector<Change>>()),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ExpectInSync(
      Step("runtime: CONTAINER_RUNTIME_ENROOT path: '/home/ann/tool.sqsh' "
           "state: PRESENCE_ABSENT"));
}

TEST_F(ContainerImageTest, EnrootsImageNeedsItsFolder) {
  const auto image =
      Make(Step("runtime: CONTAINER_RUNTIME_ENROOT path: '/nowhere/at/all/tool.sqsh' " + Pinned()));
  EXPECT_THAT(image->Apply(observer_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(ContainerImageTest, OnlyPinnedImagesAndKnownRuntimes) {
  for (const char* spec : {
           "runtime: CONTAINER_RUNTIME_PODMAN image: 'docker.io/library/debian:12'",
           "runtime: CONTAINER_RUNTIME_PODMAN image: 'debian@sha256:00'",
           "runtime: CONTAINER_RUNTIME_PODMAN image: 'localhost/a' archive: '/a.tar' sha256: ''",
           "runtime: CONTAINER_RUNTIME_PODMAN image: 'localhost/a:1' archive: '/a.tar' sha256: '1'",
           "runtime: CONTAINER_RUNTIME_PODMAN image: '--all:1' state: PRESENCE_ABSENT",
           "runtime: CONTAINER_RUNTIME_ENROOT image: 'localhost/a:1' path: '/a.sqsh'",
       }) {
    EXPECT_THAT(TryMake(Step(spec)), StatusIs(absl::StatusCode::kInvalidArgument, Said())) << spec;
  }
  EXPECT_THAT(TryMake(Step(Pinned())), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::agent
