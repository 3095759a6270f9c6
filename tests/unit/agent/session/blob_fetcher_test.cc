#include "agent/session/blob_fetcher.h"

#include <string>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include "agent/state/identity.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/sys/file_system.h"
#include "tests/fakes/fake_controller.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

class BlobFetcherTest : public ::testing::Test {
 protected:
  BlobFetcherTest() : paths_(dir_.path() + "/muster") {
    EXPECT_OK(MakeStateDirectories(paths_, files_));
    channel_.Set(grpc::CreateChannel(controller_.address(), grpc::InsecureChannelCredentials()));
    for (int i = 0; i < 300'000; ++i) data_.push_back(static_cast<char>(i * 31 + i / 256));
    sha256_ = Sha256Hex(data_);
  }

  muster::testing::TempDir dir_;
  const Paths paths_;
  sys::RealFileSystem files_;
  RealClock clock_;
  FakeController controller_;
  CurrentChannel channel_;
  BlobFetcher fetcher_{paths_, channel_, files_, clock_, [] { return false; }};
  std::string data_;
  std::string sha256_;
};

TEST_F(BlobFetcherTest, FetchesOnceAndKeepsIt) {
  controller_.AddBlob(sha256_, data_);
  EXPECT_EQ(fetcher_.Get(sha256_, data_.size()).value(), data_);
  channel_.Set(nullptr);
  EXPECT_EQ(fetcher_.Get(sha256_, data_.size()).value(), data_);
}

TEST_F(BlobFetcherTest, FetchesAgainWhatDecayedOnTheDisk) {
  controller_.AddBlob(sha256_, data_);
  ASSERT_OK(files_.WriteAtomically(paths_.BlobDirectory() + "/" + sha256_, "rust", {}));
  EXPECT_EQ(fetcher_.Get(sha256_, data_.size()).value(), data_);
}

TEST_F(BlobFetcherTest, GoesOnWhereTheConnectionBroke) {
  controller_.AddBlob(sha256_, data_);
  controller_.BreakBlobsAt(100'000);
  EXPECT_EQ(fetcher_.Get(sha256_, data_.size()).value(), data_);
}

TEST_F(BlobFetcherTest, RefusesWhatDoesNotMatch) {
  controller_.AddBlob(sha256_, std::string(data_.size(), 'x'));
  EXPECT_THAT(fetcher_.Get(sha256_, data_.size()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("digest")));
  controller_.AddBlob(sha256_, data_ + "more");
  EXPECT_THAT(fetcher_.Get(sha256_, data_.size()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than")));
  EXPECT_THAT(fetcher_.Get(std::string(64, '0'), 5),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such blob")));
  EXPECT_THAT(fetcher_.Get("../../etc/shadow", 5),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("SHA-256")));
}

}  // namespace
}  // namespace muster::agent
