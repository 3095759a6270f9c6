#include "cli/site/site_folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/site/file_type.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

class SiteFolderTest : public ::testing::Test {
 protected:
  void Write(const std::string& path) {
    fs::create_directories(fs::path(Site() + path).parent_path());
    std::ofstream(Site() + path) << "x: 1\n";
  }
  // Asking what is there fails, for root too: a link to itself.
  void Entangle(const std::string& path) { fs::create_symlink(Site() + path, Site() + path); }
  std::string Site() const { return site_.path(); }

  testing::TempDir site_;
  google::protobuf::RepeatedPtrField<v1::InventoryFile> files_;
};

TEST_F(SiteFolderTest, HoldsTheYamlFilesOfOneFolder) {
  for (const char* path :
       {"/inventory/hardware/b.yaml", "/inventory/hardware/a.yaml", "/inventory/hardware/.a.yaml",
        "/inventory/hardware/README.md", "/inventory/hardware/old/c.yaml"})
    Write(path);
  ASSERT_OK(AddSiteFolder(Site(), "inventory/hardware", &files_));
  ASSERT_EQ(files_.size(), 2);
  EXPECT_EQ(files_[0].path(), "inventory/hardware/a.yaml");
  EXPECT_EQ(files_[1].content(), "x: 1\n");
  EXPECT_THAT(AddSiteFolder(Site(), "playbooks/stacks", &files_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

// std::filesystem's exceptions aborted muster.
TEST_F(SiteFolderTest, WhatCannotBeReadIsAnErrorWithItsPath) {
  Write("/inventory/hardware/a.yaml");
  Entangle("/inventory/hardware/b.yaml");
  EXPECT_THAT(AddSiteFolder(Site(), "inventory/hardware", &files_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  Entangle("/loop");
  EXPECT_THAT(TypeOf(Site() + "/loop/inventory"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(SiteFolderTest, WhatIsNotThereHasAType) {
  EXPECT_EQ(TypeOf(Site() + "/nowhere").value(), fs::file_type::not_found);
  EXPECT_EQ(TypeOf(Site()).value(), fs::file_type::directory);
}

}  // namespace
}  // namespace muster::cli
