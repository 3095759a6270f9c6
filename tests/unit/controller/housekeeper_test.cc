#include "controller/housekeeper.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status.h"
#include "controller/artifact/blob_store.h"
#include "controller/blob_retention.h"
#include "controller/image/image_store.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::controller {
namespace {

TEST(Housekeeper, RemovesWhatIsOldAndNothingElse) {
  testing::FakeClock clock;
  auto store = *OpenStore(":memory:");
  const absl::Time now = clock.Now();
  ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
    for (const int days : {1, 91}) {
      const std::string run_id = absl::StrCat("r-", days);
      RETURN_IF_ERROR(txn.runs().Put({.run_id = run_id,
                                      .state = RunRecord::kSucceeded,
                                      .created_at = now - absl::Hours(24 * days),
                                      .finished_at = now - absl::Hours(24 * days)}));
      for (uint64_t i = 1; i <= 3000; ++i) {
        RETURN_IF_ERROR(txn.step_results().Put(
            {.run_id = run_id, .node = "a", .sequence = i, .step_id = absl::StrCat(i)}));
      }
      RETURN_IF_ERROR(txn.certificates().Insert({.serial = absl::StrCat("c", days),
                                                 .user = "alice",
                                                 .role = "admin",
                                                 .not_before = now - absl::Hours(24 * 365),
                                                 .not_after = now - absl::Hours(24 * days)}));
    }
    RETURN_IF_ERROR(txn.nodes().Put({.uuid = "u", .name = "n"}));
    for (const int days : {1, 8}) {
      RETURN_IF_ERROR(txn.certificates().Insert({.serial = absl::StrCat("n", days),
                                                 .node_uuid = "u",
                                                 .role = "node",
                                                 .not_before = now - absl::Hours(24 * 40),
                                                 .not_after = now - absl::Hours(24 * days)}));
    }
    return absl::OkStatus();
  }));
  muster::testing::TempDir folder;
  const auto blobs = *DiskBlobStore::Open(folder.path() + "/blobs");
  const auto images = *image::ImageStore::Open(folder.path() + "/images", 1000);
  Housekeeper(*store, *blobs, *images, clock).Clean();
  ASSERT_OK(store->View([&](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.step_results().List("r-91", "")->size(), 0u);
    EXPECT_EQ(txn.step_results().List("r-1", "")->size(), 3000u);
    EXPECT_OK(txn.runs().Get("r-91"));
    EXPECT_OK(txn.certificates().Get("c1"));
    EXPECT_TRUE(absl::IsNotFound(txn.certificates().Get("c91").status()));
    EXPECT_OK(txn.certificates().Get("n1"));
    EXPECT_TRUE(absl::IsNotFound(txn.certificates().Get("n8").status()));
    return absl::OkStatus();
  }));
}

// A store, and the housekeeper of a controller whose clock may be wrong.
class HousekeeperClockTest : public ::testing::Test {
 protected:
  Housekeeper NewHousekeeper() {
    return Housekeeper(*store_, *blobs_, *images_, clock_,
                       [this](absl::string_view text) { warnings_.emplace_back(text); });
  }
  // A certificate of a person.
  void PutCertificate(absl::Time not_after) {
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.certificates().Insert({.serial = "c1",
                                        .user = "alice",
                                        .role = "admin",
                                        .not_before = not_after - absl::Hours(24 * 365),
                                        .not_after = not_after});
    }));
  }
  // Notes that a node was seen now.
  void SeeNode() {
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.nodes().Put({.uuid = "u", .name = "c001", .last_seen_at = clock_.Now()});
    }));
  }
  bool HasCertificate() {
    bool found = false;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      found = txn.certificates().Get("c1").ok();
      return absl::OkStatus();
    }));
    return found;
  }

  testing::FakeClock clock_;
  muster::testing::TempDir folder_;
  std::unique_ptr<Store> store_ = *OpenStore(":memory:");
  std::unique_ptr<DiskBlobStore> blobs_ = *DiskBlobStore::Open(folder_.path() + "/blobs");
  std::unique_ptr<image::ImageStore> images_ =
      *image::ImageStore::Open(folder_.path() + "/images", 1000);
  std::vector<std::string> warnings_;
};

// It may be wrong, and what is removed does not come back when it is put right.
TEST_F(HousekeeperClockTest, WaitsForAnHourAfterALeap) {
  SeeNode();
  PutCertificate(clock_.Now() + absl::Hours(24));
  const absl::Duration leap = absl::Hours(24 * 365 * 5);
  clock_.Advance(leap);  // while the machine was off
  Housekeeper housekeeper = NewHousekeeper();
  housekeeper.Clean();
  EXPECT_TRUE(HasCertificate());
  EXPECT_EQ(warnings_.size(), 1u);
  clock_.Advance(-leap + Housekeeper::kInterval);  // it is put right
  housekeeper.Clean();
  EXPECT_TRUE(HasCertificate());
  clock_.Advance(leap);  // while musterd runs
  housekeeper.Clean();
  EXPECT_TRUE(HasCertificate());
  EXPECT_EQ(warnings_.size(), 2u);
  clock_.Advance(Housekeeper::kInterval);  // it is the time
  housekeeper.Clean();
  EXPECT_FALSE(HasCertificate());
  EXPECT_EQ(warnings_.size(), 2u);
}

// A machine whose clock is wrong may restart musterd before it is put right.
TEST_F(HousekeeperClockTest, NothingIsRemovedInTheFirstHour) {
  PutCertificate(clock_.Now() - absl::Hours(24 * 100));
  Housekeeper housekeeper = NewHousekeeper();
  const absl::Time next = housekeeper.Step();
  EXPECT_EQ(next, clock_.Now() + Housekeeper::kInterval);
  EXPECT_TRUE(HasCertificate());
  clock_.Advance(Housekeeper::kInterval);
  housekeeper.Step();
  EXPECT_FALSE(HasCertificate());
}

// A machine without a battery for its clock starts in 1970.
TEST_F(HousekeeperClockTest, OneThatIsBehindAtTheStartHasNotLeaptWhenItIsPutRight) {
  SeeNode();
  const absl::Duration behind = clock_.Now() - absl::UnixEpoch();
  clock_.Advance(-behind);
  Housekeeper housekeeper = NewHousekeeper();
  housekeeper.Step();
  clock_.Advance(behind + Housekeeper::kInterval);
  housekeeper.Step();
  EXPECT_EQ(warnings_.size(), 0u);
}

class BlobsTest : public ::testing::Test {
 protected:
  // A blob whose last use was this long ago.
  std::string Blob(const std::string& content, absl::Duration age) {
    const std::string sha256 = *blobs_->Put(content);
    const timespec time = absl::ToTimespec(clock_.Now() - age);
    const timespec times[] = {time, time};
    const std::string path =
        absl::StrCat(folder_.path(), "/blobs/", sha256.substr(0, 2), "/", sha256.substr(2));
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return sha256;
  }

  muster::testing::TempDir folder_;
  muster::testing::FakeClock clock_{absl::Now()};
  std::unique_ptr<Store> store_ = *OpenStore(":memory:");
  std::unique_ptr<BlobStore> blobs_ = *DiskBlobStore::Open(folder_.path() + "/blobs");
  std::unique_ptr<image::ImageStore> images_ =
      *image::ImageStore::Open(folder_.path() + "/images", 1000);
};

TEST_F(BlobsTest, GoWhenNothingRefersToThemForLong) {
  const absl::Duration old = absl::Hours(24 * 31), young = absl::Hours(24 * 29);
  const std::string unused = Blob("unused", old), recent = Blob("recent", young);
  const std::string bundle = Blob("bundle", old), running = Blob("running", old);
  const std::string ended = Blob("ended", old), again = Blob("again", old);
  const std::string one = Blob("one", old), two = Blob("two", old);
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.bundles().Put({bundle, 6, clock_.Now()}));
    for (const auto& [sha256, state] :
         {std::pair(running, RunRecord::kRunning), std::pair(ended, RunRecord::kSucceeded)}) {
      v1::CreateRunRequest request;
      request.set_bundle_sha256(sha256);
      RunRecord run;
      run.run_id = sha256;
      run.state = state;
      run.created_at = clock_.Now();
      request.SerializeToString(&run.request);
      RETURN_IF_ERROR(txn.runs().Put(run));
    }
    RETURN_IF_ERROR(txn.nodes().Put({.uuid = "u", .name = "c001"}));
    return txn.open_plans().Put({"u", "r-1/0", 1, absl::StrCat(one, " ", two)});
  }));
  EXPECT_EQ(*blobs_->Put("again"), again);  // a new plan will name it
  Housekeeper(*store_, *blobs_, *images_, clock_).Clean();
  for (const std::string& sha256 : {unused, ended}) EXPECT_FALSE(blobs_->Has(sha256));
  for (const std::string& sha256 : {recent, bundle, running, again, one, two})
    EXPECT_TRUE(blobs_->Has(sha256));
}

TEST_F(BlobsTest, ArtifactsThatNoImageNamesGo) {
  const std::string sha256 = Sha256Hex("of an interrupted upload");
  const auto upload = *images_->artifacts().Begin(sha256, 24);
  ASSERT_OK(upload->Append("of an interrupted upload"));
  ASSERT_OK(upload->Finish(clock_.Now()));
  Housekeeper housekeeper(*store_, *blobs_, *images_, clock_);
  housekeeper.Clean();
  EXPECT_OK(images_->artifacts().Size(sha256));
  clock_.Advance(image::ArtifactStore::kUnnamedKept + absl::Minutes(1));
  housekeeper.Clean();
  EXPECT_TRUE(absl::IsNotFound(images_->artifacts().Size(sha256).status()));
}

TEST_F(BlobsTest, StayWhenTheyAreRefreshedAfterTheyWereFoundUnused) {
  const std::string sha256 = Blob("content", absl::Hours(24 * 31));
  const absl::Time time = clock_.Now() - Housekeeper::kBlobsKept;
  ASSERT_THAT(UnusedBlobs(*blobs_->List(), {}, time), ::testing::ElementsAre(sha256));
  EXPECT_TRUE(blobs_->Refresh(sha256));
  EXPECT_FALSE(*blobs_->RemoveIfOlder(sha256, time));
  EXPECT_TRUE(blobs_->Has(sha256));
  EXPECT_FALSE(blobs_->Refresh(std::string(64, '0')));
}

}  // namespace
}  // namespace muster::controller
