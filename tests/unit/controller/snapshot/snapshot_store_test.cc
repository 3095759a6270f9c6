#include "controller/snapshot/snapshot_store.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::snapshot {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kBound = 10'000;

class SnapshotStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / NewShortId("snapshots");
    Open();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Open() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<SnapshotStore>> opened = SnapshotStore::Open(folder_, kBound);
    ASSERT_OK(opened);
    store_ = *std::move(opened);
  }

  // One with an index and a package, both named by their text.
  v1::Snapshot Make(const std::string& name, const std::string& index, const std::string& package) {
    v1::Snapshot snapshot;
    snapshot.set_name(name);
    *snapshot.mutable_created_at() = ToTimestamp(absl::FromUnixSeconds(1'700'000'000 + made_++));
    v1::SnapshotRepository& repository = *snapshot.add_repositories();
    repository.set_name("debian");
    v1::SnapshotSuite& suite = *repository.add_suites();
    suite.mutable_in_release()->set_sha256(store_->KeepText("release of " + name).value());
    suite.add_indexes()->set_sha256(store_->KeepText(index).value());
    const std::string list = PackageList::Write({{"tool", "1", "amd64", "pool/tool.deb",
                                                  Sha256Hex(package), package.size()}})
                                 .value();
    repository.mutable_package_list()->set_sha256(store_->KeepText(list).value());
    return snapshot;
  }
  absl::Status Keep(const std::string& text, const std::string& announced) {
    const IncomingFile incoming(store_->NewIncoming());
    std::ofstream(incoming.path()) << text;
    return store_->Keep(incoming.path(), Sha256Hex(announced), announced.size());
  }

  std::filesystem::path folder_;
  std::unique_ptr<SnapshotStore> store_;
  int made_ = 0;
};

TEST_F(SnapshotStoreTest, SnapshotsOutliveTheProcess) {
  ASSERT_OK(store_->Add(Make("a", "index", "package")));
  ASSERT_OK(store_->Add(Make("b", "index 2", "package")));
  ASSERT_OK(Keep("package", "package"));
  const uint64_t bytes = store_->KeptBytes(**store_->Get("a")).value();
  Open();
  ASSERT_THAT(store_->List(), SizeIs(2));
  EXPECT_EQ(store_->List()[0]->name(), "b");
  EXPECT_TRUE(store_->Has(Sha256Hex("package")));
  EXPECT_EQ(store_->KeptBytes(**store_->Get("a")).value(), bytes);
  const int fd = store_->OpenFile(Sha256Hex("package")).value();
  char text[16] = "";
  EXPECT_EQ(read(fd, text, sizeof(text)), 7);
  close(fd);
  EXPECT_THAT(store_->Get("ab"), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(SnapshotStoreTest, ASnapshotNeverChanges) {
  ASSERT_OK(store_->Add(Make("a", "index", "package")));
  EXPECT_THAT(store_->Add(Make("a", "other", "other")),
              StatusIs(absl::StatusCode::kAlreadyExists, Said()));
  EXPECT_TRUE(store_->Has((*store_->Get("a"))->repositories(0).suites(0).indexes(0).sha256()));
  EXPECT_EQ((*store_->Get("a"))->repositories(0).suites(0).indexes(0).sha256(), Sha256Hex("index"));
}

TEST_F(SnapshotStoreTest, WhatOthersNeedStays) {
  ASSERT_OK(store_->Add(Make("a", "shared", "package")));
  ASSERT_OK(store_->Add(Make("b", "shared", "package 2")));
  ASSERT_OK(Keep("package", "package"));
  ASSERT_OK(Keep("package 2", "package 2"));
  ASSERT_OK(store_->Remove("a"));
  EXPECT_GT(store_->Sweep().value(), 7u);
  EXPECT_FALSE(store_->Has(Sha256Hex("package")));
  EXPECT_FALSE(store_->Has(Sha256Hex("release of a")));
  EXPECT_TRUE(store_->Has(Sha256Hex("shared")));
  EXPECT_TRUE(store_->Has(Sha256Hex("package 2")));
  EXPECT_EQ(store_->Sweep().value(), 0u);
  EXPECT_THAT(store_->Remove("a"), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(SnapshotStoreTest, WhatAnInterruptedCreationLeftGoesAtTheNextStart) {
  store_->KeepText("an index").value();
  std::ofstream(store_->NewIncoming()) << "half a package";
  Open();
  EXPECT_FALSE(store_->Has(Sha256Hex("an index")));
  EXPECT_THAT(std::filesystem::directory_iterator(folder_ / "incoming"),
              std::filesystem::directory_iterator());
}

TEST_F(SnapshotStoreTest, OtherContentIsNotKept) {
  EXPECT_THAT(Keep("evil!!!", "package"), StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
  EXPECT_FALSE(store_->Has(Sha256Hex("package")));
  EXPECT_FALSE(store_->OpenFile(Sha256Hex("package")).ok());
  EXPECT_FALSE(store_->OpenFile("../../names/a").ok());
}

TEST_F(SnapshotStoreTest, ItsRoomIsBounded) {
  EXPECT_OK(store_->CheckRoom(kBound));
  store_->KeepText("12345").value();
  EXPECT_THAT(store_->CheckRoom(kBound), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_OK(store_->CheckRoom(kBound - 5));
}

TEST_F(SnapshotStoreTest, NamesAreFileNames) {
  for (const std::string name : {"2026-11-26", "a", "A_1.b"})
    EXPECT_EQ(CheckSnapshotName(name), "");
  for (const std::string name : {"", ".", "..", "../a", "a/b", "-a", "a b", "\xc3\xa9"}) {
    v1::Snapshot snapshot;
    snapshot.set_name(name);
    EXPECT_THAT(store_->Add(snapshot), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  EXPECT_NE(CheckSnapshotName(std::string(65, 'a')), "");
  EXPECT_THAT(store_->List(), IsEmpty());
}

}  // namespace
}  // namespace muster::controller::snapshot
