#include "controller/image/artifact_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "absl/time/clock.h"
#include "common/base/digest.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::controller::image {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

constexpr uint64_t kBound = 10'000;

class ArtifactStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<ArtifactStore>> opened =
        ArtifactStore::Open(folder_.path(), kBound);
    ASSERT_OK(opened);
    store_ = *std::move(opened);
  }

  absl::StatusOr<std::unique_ptr<ArtifactUpload>> Begin(const std::string& content) {
    return store_->Begin(Sha256Hex(content), content.size());
  }
  std::string Put(const std::string& content) {
    absl::StatusOr<std::unique_ptr<ArtifactUpload>> upload = Begin(content);
    EXPECT_OK(upload);
    EXPECT_OK((*upload)->Append(content));
    EXPECT_OK((*upload)->Finish(now_));
    return Sha256Hex(content);
  }
  std::string PathOf(const std::string& sha256) const {
    return absl::StrCat(folder_.path(), "/", sha256.substr(0, 2), "/", sha256.substr(2));
  }
  void MakeOlder(const std::string& sha256, absl::Duration age) {
    const timespec time = absl::ToTimespec(now_ - age);
    const timespec times[] = {time, time};
    EXPECT_EQ(utimensat(AT_FDCWD, PathOf(sha256).c_str(), times, 0), 0);
  }
  absl::StatusOr<std::string> FindFault(const std::string& sha256, uint64_t size) {
    return store_->FindFault(sha256, size, [] { return false; });
  }
  size_t FilesIn() const {
    size_t files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder_.path()))
      files += each.is_regular_file();
    return files;
  }

  muster::testing::TempDir folder_;
  const absl::Time now_ = absl::Now();
  std::unique_ptr<ArtifactStore> store_;
};

TEST_F(ArtifactStoreTest, AnArtifactComesInPiecesAndOutlivesTheProcess) {
  const std::string content(5000, 'x');
  {
    auto upload = Begin(content).value();
    for (int i = 0; i < 5; ++i) ASSERT_OK(upload->Append(content.substr(0, 1000)));
    EXPECT_FALSE(store_->Promise(Sha256Hex(content), now_));
    ASSERT_OK(upload->Finish(now_));
  }
  Open();
  EXPECT_TRUE(store_->Promise(Sha256Hex(content), now_));
  EXPECT_EQ(store_->Size(Sha256Hex(content)).value(), 5000u);
  EXPECT_EQ(FindFault(Sha256Hex(content), 5000).value(), "");
  const sys::UniqueFd file = store_->OpenFile(Sha256Hex(content)).value();
  char first = 0;
  EXPECT_EQ(read(file.get(), &first, 1), 1);
  EXPECT_EQ(first, 'x');
}

TEST_F(ArtifactStoreTest, AnUploadThatEndsEarlyLeavesNothing) {
  {
    auto upload = Begin("content").value();
    ASSERT_OK(upload->Append("cont"));
  }
  {
    auto upload = Begin("content").value();
    ASSERT_OK(upload->Append("cont"));
    EXPECT_THAT(upload->Finish(now_), StatusIs(absl::StatusCode::kDataLoss, Said()));
  }
  {
    auto upload = Begin("content").value();
    ASSERT_OK(upload->Append("CONTENT"));
    EXPECT_THAT(upload->Finish(now_), StatusIs(absl::StatusCode::kDataLoss, Said()));
    EXPECT_THAT(upload->Append("and more"), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  }
  EXPECT_EQ(FilesIn(), 0u);
  EXPECT_FALSE(store_->Promise(Sha256Hex("content"), now_));
  EXPECT_THAT(store_->OpenFile(Sha256Hex("content")),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(ArtifactStoreTest, WhatIsNoArtifactIsRefused) {
  EXPECT_THAT(store_->Begin("../x", 1), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(store_->Begin(Sha256Hex(""), 0),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(store_->Begin(Sha256Hex(""), (uint64_t{64} << 30) + 1),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  auto upload = store_->Begin(Sha256Hex("x"), 9000).value();
  EXPECT_THAT(upload->Append(std::string(ArtifactUpload::kMaxPiece + 1, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(ArtifactStoreTest, UploadsThatAreRunningCountAgainstTheBound) {
  Put(std::string(4000, 'a'));
  {
    const auto running = Begin(std::string(4000, 'b')).value();
    EXPECT_THAT(Begin(std::string(2001, 'c')),
                StatusIs(absl::StatusCode::kResourceExhausted, Said()));
    EXPECT_OK(Begin(std::string(2000, 'c')));
  }
  EXPECT_OK(Begin(std::string(6000, 'c')));  // its room has been given back
}

TEST_F(ArtifactStoreTest, TwoUploadsOfOneArtifactEndWell) {
  const std::string content = "the same";
  auto first = Begin(content).value(), second = Begin(content).value();
  ASSERT_OK(first->Append(content));
  ASSERT_OK(second->Append("the "));
  ASSERT_OK(first->Finish(now_));
  ASSERT_OK(second->Append("same"));
  ASSERT_OK(second->Finish(now_));
  EXPECT_EQ(FilesIn(), 1u);
  EXPECT_EQ(FindFault(Sha256Hex(content), content.size()).value(), "");
}

TEST_F(ArtifactStoreTest, WhatNoImageNamesGoesAfterAnHour) {
  const std::string named = Put("named"), old = Put("old"), young = Put("young");
  const std::string asked = Put("asked");
  for (const std::string& each : {named, old, asked}) MakeOlder(each, absl::Minutes(61));
  MakeOlder(young, absl::Minutes(59));
  EXPECT_TRUE(store_->Promise(asked, now_));
  EXPECT_EQ(store_->Sweep({named}, now_).value(), 3u);
  EXPECT_EQ(FilesIn(), 3u);
  EXPECT_THAT(store_->Size(old), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(ArtifactStoreTest, APromiseHoldsUntilItIsFulfilled) {
  const std::string kept = Put("kept"), promised = Put("promised"), long_ago = Put("long ago");
  store_->Fulfil({kept, promised});
  EXPECT_TRUE(store_->Promise(promised, now_));
  EXPECT_TRUE(store_->Promise(long_ago, now_ - absl::Minutes(61)));
  EXPECT_EQ(store_->Remove({kept, promised, long_ago, Sha256Hex("nothing")}, now_).value(), 12u);
  EXPECT_FALSE(store_->Promise(kept, now_));
  EXPECT_FALSE(store_->Promise(long_ago, now_));
  EXPECT_TRUE(store_->Promise(promised, now_));
}

TEST_F(ArtifactStoreTest, ADamagedOneIsSentAgain) {
  const std::string sha256 = Put("content");
  std::ofstream(PathOf(sha256)) << "CONTENT";
  EXPECT_TRUE(store_->Promise(sha256, now_));  // nobody has looked yet
  EXPECT_THAT(FindFault(sha256, 7).value(), Said());
  EXPECT_FALSE(store_->Promise(sha256, now_));
  Put("content");
  EXPECT_TRUE(store_->Promise(sha256, now_));
  EXPECT_EQ(FindFault(sha256, 7).value(), "");
  std::filesystem::resize_file(PathOf(sha256), 3);
  EXPECT_THAT(FindFault(sha256, 7).value(), Said());
  std::filesystem::remove(PathOf(sha256));
  EXPECT_THAT(FindFault(sha256, 7).value(), Said());
  Put("content");
  EXPECT_THAT(store_->FindFault(sha256, 7, [] { return true; }),
              StatusIs(absl::StatusCode::kCancelled, Said()));
}

TEST_F(ArtifactStoreTest, ForeignFilesAreFoundAndStay) {
  const std::string sha256 = Put("content");
  std::ofstream(folder_.path() + "/notes.txt") << "mine";
  std::ofstream(absl::StrCat(folder_.path(), "/", sha256.substr(0, 2), "/short")) << "mine";
  std::filesystem::create_directories(folder_.path() + "/zz");
  std::ofstream(folder_.path() + "/.tmp-1") << "half an upload";
  Open();
  EXPECT_THAT(store_->FindForeign(10),
              ElementsAre(absl::StrCat(folder_.path(), "/", sha256.substr(0, 2), "/short"),
                          folder_.path() + "/notes.txt", folder_.path() + "/zz"));
  EXPECT_EQ(store_->FindForeign(1).size(), 1u);
  EXPECT_EQ(store_->Sweep({}, now_ + absl::Hours(2)).value(), 7u);
  EXPECT_EQ(store_->FindForeign(10).size(), 3u);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/.tmp-1"));
}

}  // namespace
}  // namespace muster::controller::image
