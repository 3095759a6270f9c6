#include "agent/session/blob_fetcher.h"

#include <string>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/sys/file_system.h"
#include "tests/fakes/fake_controller.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

class BlobFetcherTest : public ::testing::Test {
 protected:
  BlobFetcherTest() : path_(dir_.path() + "/blob.part") {
    channel_.Set(grpc::CreateChannel(controller_.address(), grpc::InsecureChannelCredentials()));
    for (int i = 0; i < 300'000; ++i) data_.push_back(static_cast<char>(i * 31 + i / 256));
    sha256_ = Sha256Hex(data_);
    hooks_.on_activity = [](absl::string_view, std::optional<float>) {};
    hooks_.cancelled = [] { return false; };
  }
  absl::Status Fetch() { return fetcher_.Fetch(sha256_, data_.size(), path_, hooks_); }

  muster::testing::TempDir dir_;
  const std::string path_;
  sys::RealFileSystem files_;
  RealClock clock_;
  FakeController controller_;
  CurrentChannel channel_;
  BlobFetcher fetcher_{channel_, clock_};
  TransferHooks hooks_;
  std::string data_;
  std::string sha256_;
};

TEST_F(BlobFetcherTest, Fetches) {
  controller_.AddBlob(sha256_, data_);
  ASSERT_OK(Fetch());
  EXPECT_EQ(files_.Read(path_).value(), data_);
}

TEST_F(BlobFetcherTest, GoesOnWhereTheConnectionBroke) {
  controller_.AddBlob(sha256_, data_);
  controller_.BreakBlobsAt(100'000);
  ASSERT_OK(Fetch());
  EXPECT_EQ(files_.Read(path_).value(), data_);
}

TEST_F(BlobFetcherTest, GoesOnWithWhatAnEarlierLifeLeft) {
  controller_.AddBlob(sha256_, data_);
  ASSERT_OK(files_.WriteAtomically(path_, data_.substr(0, 299'990), {}));
  ASSERT_OK(Fetch());
  EXPECT_EQ(files_.Read(path_).value(), data_);
}

TEST_F(BlobFetcherTest, MakesAnEmptyFile) {
  ASSERT_OK(fetcher_.Fetch(Sha256Hex(""), 0, path_, hooks_));
  EXPECT_EQ(files_.Read(path_).value(), "");
}

TEST_F(BlobFetcherTest, RefusesWhatCannotBeRight) {
  controller_.AddBlob(sha256_, data_ + "more");
  EXPECT_THAT(Fetch(), StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_THAT(fetcher_.Fetch(std::string(64, '0'), 5, dir_.path() + "/other", hooks_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(BlobFetcherTest, EndsItsWaitWhenItIsToldTo) {
  channel_.Set(nullptr);
  hooks_.cancelled = [] { return true; };
  EXPECT_THAT(Fetch(), StatusIs(absl::StatusCode::kCancelled, Said()));
}

}  // namespace
}  // namespace muster::agent
