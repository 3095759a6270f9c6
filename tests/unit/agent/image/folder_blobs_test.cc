#include "agent/image/folder_blobs.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;

class FolderBlobsTest : public ::testing::Test {
 protected:
  absl::Status Fetch(const std::string& sha256) {
    return FolderBlobs(folder_.path())
        .Fetch(sha256, 7, target_,
               {.on_activity = [](absl::string_view, std::optional<float>) {},
                .cancelled = [] { return false; }});
  }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(absl::StrCat(folder_.path(), "/", name)) << content;
  }

  muster::testing::TempDir folder_;
  muster::testing::TempDir work_;
  const std::string target_ = work_.path() + "/blob.part";
  const std::string digest_ = Sha256Hex("content");
};

TEST_F(FolderBlobsTest, CopiesAndKeepsTheBuildersFile) {
  Write(digest_, "content");
  ASSERT_OK(Fetch(digest_));
  for (const std::string& path : {target_, absl::StrCat(folder_.path(), "/", digest_)}) {
    std::ifstream file(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "content") << path;
  }
}

TEST_F(FolderBlobsTest, RefusesWhatIsMissingDamagedOrNoDigest) {
  EXPECT_THAT(Fetch(digest_), StatusIs(absl::StatusCode::kNotFound, _));
  Write(digest_, "damaged");
  EXPECT_THAT(Fetch(digest_), StatusIs(absl::StatusCode::kDataLoss, _));
  Write("name", "content");
  EXPECT_THAT(Fetch("name"), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_FALSE(std::ifstream(target_).is_open());
}

}  // namespace
}  // namespace muster::agent
