#include "cli/site/site_bundle.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/sys/archive/archive.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Pair;

class SiteBundleTest : public ::testing::Test {
 protected:
  SiteBundleTest() : root_(::testing::TempDir() + "/site-" + std::to_string(getpid())) {
    std::filesystem::remove_all(root_);
  }
  ~SiteBundleTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  const std::string root_;
};

TEST_F(SiteBundleTest, HoldsThePlaybooksFolderWithoutHiddenFilesAndBackups) {
  Write("/playbooks/site.yaml", "- play: x\n");
  Write("/playbooks/roles/base/tasks/main.yaml", "[]\n");
  Write("/playbooks/.git/config", "no");
  Write("/playbooks/site.yaml~", "no");
  Write("/secret.txt", "no");
  const auto bundle = PackSite(root_ + "/playbooks/site.yaml");
  ASSERT_OK(bundle);
  EXPECT_EQ(bundle->playbook, "playbooks/site.yaml");
  const auto files = sys::UnpackTarGz(bundle->archive);
  ASSERT_OK(files);
  EXPECT_THAT(*files, ElementsAre(Pair("playbooks/roles/base/tasks/main.yaml", "[]\n"),
                                  Pair("playbooks/site.yaml", "- play: x\n")));
}

TEST_F(SiteBundleTest, ASiteIsTheSameBundleHoweverItIsNamed) {
  Write("/playbooks/site.yaml", "- play: x\n");
  Write("/playbooks/roles/base/tasks/main.yaml", "[]\n");
  Write("/inventory/hardware/t4.yaml", "name: t4\n");
  const auto applied = PackSite(root_ + "/playbooks/site.yaml");
  ASSERT_OK(applied);
  for (const char* path : {"", "/", "/playbooks", "/playbooks/site.yaml"}) {
    const auto bundle = PackSiteAt(root_ + path);
    ASSERT_OK(bundle);
    EXPECT_EQ(bundle->sha256, applied->sha256) << path;
  }
  EXPECT_THAT(PackSiteAt(root_ + "/none"), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(SiteBundleTest, HoldsWhatTheSuitesThatAPlaybookEndsWithStandOn) {
  Write("/playbooks/site.yaml", "- play: x\n");
  Write("/playbooks/suites/quick.yaml", "name: quick\n");
  Write("/inventory/hardware/t4.yaml", "name: t4\n");
  Write("/inventory/cluster.yaml", "no\n");
  const auto bundle = PackSite(root_ + "/playbooks/site.yaml");
  ASSERT_OK(bundle);
  EXPECT_THAT(sys::UnpackTarGz(bundle->archive).value(),
              ElementsAre(Pair("inventory/hardware/t4.yaml", "name: t4\n"),
                          Pair("playbooks/site.yaml", "- play: x\n"),
                          Pair("playbooks/suites/quick.yaml", "name: quick\n")));
}

TEST_F(SiteBundleTest, ALinkIsThereUnderItsOwnName) {
  Write("/playbooks/site.yaml", "- play: x\n");
  Write("/playbooks/roles/a/templates/x.j2", "text");
  std::filesystem::create_directories(root_ + "/playbooks/roles/b/templates");
  std::filesystem::create_symlink("../../a/templates/x.j2",
                                  root_ + "/playbooks/roles/b/templates/x.j2");
  const auto bundle = PackSite(root_ + "/playbooks/site.yaml");
  ASSERT_OK(bundle);
  const auto files = sys::UnpackTarGz(bundle->archive);
  ASSERT_OK(files);
  EXPECT_THAT(*files, ::testing::Contains(Pair("playbooks/roles/b/templates/x.j2", "text")));
}

TEST_F(SiteBundleTest, TheSameSiteHasTheSameDigest) {
  Write("/playbooks/site.yaml", "- play: x\n");
  const auto first = PackSite(root_ + "/playbooks/site.yaml");
  std::filesystem::last_write_time(root_ + "/playbooks/site.yaml",
                                   std::filesystem::file_time_type::min());
  const auto second = PackSite(root_ + "/playbooks/site.yaml");
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->sha256, second->sha256);
}

TEST_F(SiteBundleTest, NamesAPlaybookThatIsNotThere) {
  EXPECT_THAT(PackSite(root_ + "/nowhere.yaml"), StatusIs(absl::StatusCode::kNotFound, Said()));
  Write("/playbooks/site.yaml", "");
  EXPECT_THAT(PackSite(root_ + "/playbooks"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(SiteBundleTest, SuitesTravelWithTheHardwareFilesAndNothingElse) {
  EXPECT_THAT(PackSuites(root_), StatusIs(absl::StatusCode::kNotFound, Said()));
  Write("/playbooks/suites/quick.yaml", "name: quick\n");
  Write("/playbooks/site.yaml", "- play: x\n");
  const std::string without = PackSuites(root_)->sha256;
  Write("/inventory/hardware/t4.yaml", "name: t4\n");
  Write("/inventory/cluster.yaml", "cluster: x\n");
  const auto bundle = PackSuites(root_);
  ASSERT_OK(bundle);
  EXPECT_NE(bundle->sha256, without);
  EXPECT_THAT(sys::UnpackTarGz(bundle->archive).value(),
              ElementsAre(Pair("inventory/hardware/t4.yaml", "name: t4\n"),
                          Pair("playbooks/suites/quick.yaml", "name: quick\n")));
}

// An operator may reboot once an administrator has approved it, because it never changes.
TEST_F(SiteBundleTest, TheRebootIsTheSameBundleEveryTime) {
  const auto bundle = PackReboot("");
  ASSERT_OK(bundle);
  EXPECT_EQ(bundle->playbook, "playbooks/node-reboot.yaml");
  EXPECT_EQ(bundle->sha256, PackReboot("")->sha256);
  const auto files = sys::UnpackTarGz(bundle->archive);
  ASSERT_OK(files);
  EXPECT_EQ(files->size(), 1u);
  Write("/playbooks/suites/quick.yaml", "name: quick\n");
  const auto with_suites = PackReboot(root_);
  ASSERT_OK(with_suites);
  EXPECT_EQ(sys::UnpackTarGz(with_suites->archive)->count("playbooks/suites/quick.yaml"), 1u);
  EXPECT_EQ(PackReboot(root_ + "/inventory").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace muster::cli
