#include "cli/image/files_digest.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

TEST(FilesDigest, ChangesWithNamesModesContentsAndLinks) {
  const testing::TempDir dir;
  const fs::path root = dir.path();
  std::set<std::string> digests;
  const auto expect_new = [&] {
    const absl::StatusOr<std::string> digest = FilesDigest(root.string());
    ASSERT_OK(digest);
    EXPECT_TRUE(digests.insert(*digest).second);
  };
  expect_new();
  fs::create_directories(root / "etc");
  expect_new();
  std::ofstream(root / "etc/a") << "one";
  expect_new();
  std::ofstream(root / "etc/a") << "two";
  expect_new();
  fs::permissions(root / "etc/a", fs::perms::owner_all);
  expect_new();
  fs::rename(root / "etc/a", root / "etc/b");
  expect_new();
  fs::create_symlink("b", root / "etc/link");
  expect_new();
  fs::remove(root / "etc/link");
  fs::create_symlink("c", root / "etc/link");
  expect_new();
  const absl::StatusOr<std::string> again = FilesDigest(root.string());
  EXPECT_EQ(digests.count(*again), 1u);
}

TEST(FilesDigest, AFolderThatIsNotThereIsNamed) {
  const testing::TempDir dir;
  EXPECT_EQ(FilesDigest(dir.path() + "/none").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace muster::cli
