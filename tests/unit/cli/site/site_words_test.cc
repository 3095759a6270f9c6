#include "cli/site/site_words.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;

TEST(SiteWords, AreTheTagsAndRolesOfTheFolder) {
  const testing::TempDir site;
  const auto write = [&](const std::string& path, const std::string& text) {
    const std::filesystem::path file = std::filesystem::path(site.path()) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  write("site.yaml",
        "- play: p\n  hosts: all\n  tags: base\n  roles:\n"
        "    - {role: munge, tags: [munge, auth]}\n");
  write("roles/munge/tasks/main.yaml",
        "- name: a\n  tags: [munge, \"key\"]\n  file: {path: /tags}\n");
  write("roles/munge/tasks/broken.yaml", "- [\n");
  write("roles/slurm/tasks/main.yaml", "[]\n");
  EXPECT_THAT(SiteTags(site.path()), ElementsAre("auth", "base", "key", "munge"));
  EXPECT_THAT(SiteRoles(site.path()), ElementsAre("munge", "slurm", "tasks"));
  EXPECT_THAT(SiteTags(site.path() + "/none"), ElementsAre());
  EXPECT_THAT(SiteRoles(site.path() + "/none"), ElementsAre("tasks"));
}

}  // namespace
}  // namespace muster::cli
