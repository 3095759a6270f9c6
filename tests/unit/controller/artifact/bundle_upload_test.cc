#include "controller/artifact/bundle_upload.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/id.h"
#include "common/sys/archive/archive.h"
#include "controller/store/soci/store.h"
#include "controller/store/store.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

class BundleUploadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / NewShortId("bundles");
    blobs_ = DiskBlobStore::Open(folder_).value();
    store_ = OpenStore(":memory:").value();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<size_t> Upload(const std::string& sha256, size_t size, const std::string& data) {
    auto upload = BundleUpload::Begin(*store_, *blobs_, sha256, size);
    if (!upload.ok()) return upload.status();
    for (size_t at = 0; at < data.size(); at += BundleUpload::kMaxPiece) {
      const absl::Status appended = (*upload)->Append(data.substr(at, BundleUpload::kMaxPiece));
      if (!appended.ok()) return appended;
    }
    return (*upload)->Finish(kNow, "operator:eve");
  }

  std::filesystem::path folder_;
  std::unique_ptr<DiskBlobStore> blobs_;
  std::unique_ptr<Store> store_;
};

TEST_F(BundleUploadTest, EntersTheStoreOnceItIsWhole) {
  const std::string archive = sys::PackTarGz({{"site.yaml", "a"}, {"roles/x.yaml", "b"}}).value();
  const std::string sha256 = Sha256Hex(archive);
  EXPECT_FALSE(HasBundle(*store_, *blobs_, sha256).value());
  EXPECT_EQ(Upload(sha256, archive.size(), archive).value(), 2u);
  EXPECT_TRUE(HasBundle(*store_, *blobs_, sha256).value());
  EXPECT_EQ(Upload(sha256, archive.size(), archive).value(), 2u);  // repeating it does no harm
}

TEST_F(BundleUploadTest, RefusesWhatIsNotAsAnnounced) {
  const std::string archive = sys::PackTarGz({{"site.yaml", "a"}}).value();
  const std::string sha256 = Sha256Hex(archive);
  const size_t size = archive.size();
  EXPECT_THAT(Upload(sha256, size, archive.substr(1)),
              StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_EQ(Upload(sha256, size - 1, archive).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Upload(Sha256Hex("hello"), 5, "hello"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_EQ(Upload("x", 5, "hello").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Upload(sha256, kMaxBundleBytes + 1, ""),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_FALSE(HasBundle(*store_, *blobs_, sha256).value());
  EXPECT_FALSE(blobs_->Has(Sha256Hex("hello")));
  EXPECT_THAT(HasBundle(*store_, *blobs_, "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
