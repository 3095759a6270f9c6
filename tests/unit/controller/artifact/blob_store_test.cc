#include "controller/artifact/blob_store.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/id.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class BlobStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / NewShortId("blobs");
    blobs_ = DiskBlobStore::Open(folder_).value();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  size_t Files() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
      count += entry.is_regular_file();
    return count;
  }

  std::filesystem::path folder_;
  std::unique_ptr<DiskBlobStore> blobs_;
};

TEST_F(BlobStoreTest, KeepsContentUnderItsDigest) {
  const std::string sha256 = blobs_->Put("content").value();
  EXPECT_EQ(sha256, Sha256Hex("content"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / sha256.substr(0, 2) / sha256.substr(2)));
  EXPECT_EQ(blobs_->Read(sha256, 0, 100).value(), "content");
  EXPECT_EQ(blobs_->Read(sha256, 3, 2).value(), "te");
  EXPECT_EQ(blobs_->Read(sha256, 7, 1).value(), "");
  EXPECT_EQ(blobs_->Put("content").value(), sha256);
  EXPECT_EQ(Files(), 1u);
  EXPECT_TRUE(DiskBlobStore::Open(folder_).value()->Has(sha256));  // also after a restart
}

TEST_F(BlobStoreTest, NothingButTheAnnouncedBytesIsKept) {
  const std::string sha256 = Sha256Hex("abc");
  const auto write = [&](const std::string& data) -> absl::Status {
    const std::unique_ptr<BlobWriter> writer = blobs_->Begin(sha256, 3).value();
    const absl::Status appended = writer->Append(data);
    return appended.ok() ? writer->Commit() : appended;
  };
  EXPECT_THAT(write("ab"), StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_THAT(write("abd"),
              StatusIs(absl::StatusCode::kDataLoss, AllOf(Said(), HasSubstr(sha256))));
  EXPECT_THAT(write("abcd"), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_FALSE(blobs_->Has(sha256));
  EXPECT_EQ(Files(), 0u);
  EXPECT_OK(write("abc"));
  EXPECT_TRUE(blobs_->Has(sha256));
}

TEST_F(BlobStoreTest, NamesThatAreNoDigestsReachNoFile) {
  std::ofstream(folder_ / "outside") << "private";
  for (const std::string& name :
       {std::string("../outside"), std::string(), std::string(64, 'G'), std::string(64, '/'),
        std::string(63, 'a'), std::string(64, 'A')}) {
    EXPECT_EQ(blobs_->Read(name, 0, 10).status().code(), absl::StatusCode::kNotFound) << name;
    EXPECT_EQ(blobs_->Begin(name, 1).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(BlobStoreTest, OpeningClearsWhatACrashLeft) {
  const std::string sha256 = blobs_->Put("content").value();
  std::ofstream(folder_ / ".tmp-left") << "half";
  const auto opened = DiskBlobStore::Open(folder_).value();
  EXPECT_EQ(Files(), 1u);
  EXPECT_TRUE(opened->Has(sha256));
  EXPECT_THAT(opened->ReadAll(sha256, 3), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
}

}  // namespace
}  // namespace muster::controller
