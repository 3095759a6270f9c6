// The administrator's messages when the disk or the file is not as it should be.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/small_disk.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::SmallDisk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

NodeRecord LargeNode(int number, size_t bytes) {
  NodeRecord node;
  node.uuid = absl::StrCat("u", number);
  node.name = absl::StrCat("c", number);
  node.description = RandomBytes(bytes);
  return node;
}

class StoreFaultTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "muster_store_", getpid());
  const std::string path_ = folder_ + "/muster.db";
};

TEST_F(StoreFaultTest, FullDiskLosesNothingAndSaysSo) {
  SmallDisk disk(folder_ + "/disk", "2m");
  ASSERT_TRUE(disk.ok());
  const std::string path = folder_ + "/disk/muster.db";
  auto store = OpenStore(path);
  ASSERT_OK(store);
  int kept = 0;
  absl::Status status;
  while (status.ok() && kept < 1000) {
    status = (*store)->Update(
        [&](Transaction& txn) { return txn.nodes().Put(LargeNode(kept, 50'000)); });
    if (status.ok()) ++kept;
  }
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kResourceExhausted, AllOf(Said(), HasSubstr(path))));
  EXPECT_GT(kept, 2);
  const auto count = [&] {
    size_t nodes = 0;
    EXPECT_OK((*store)->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto all, txn.nodes().List());
      nodes = all.size();
      return absl::OkStatus();
    }));
    return nodes;
  };
  EXPECT_EQ(count(), static_cast<size_t>(kept));
  // There is room again: it continues without a restart, and a restart finds everything.
  ASSERT_TRUE(disk.Resize("8m"));
  EXPECT_OK(
      (*store)->Update([&](Transaction& txn) { return txn.nodes().Put(LargeNode(kept, 50'000)); }));
  store->reset();
  store = OpenStore(path);
  ASSERT_OK(store);
  EXPECT_EQ(count(), static_cast<size_t>(kept) + 1);
  store->reset();
}

TEST_F(StoreFaultTest, NoRoomForANewStore) {
  SmallDisk disk(folder_ + "/disk", "2m");
  ASSERT_TRUE(disk.ok());
  std::ofstream(folder_ + "/disk/ballast") << std::string(2 << 20, 'x');
  EXPECT_THAT(OpenStore(folder_ + "/disk/muster.db"),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
}

TEST_F(StoreFaultTest, ReadOnlyFileSystemIsNamedAndWorkGoesOnWhenItIsWritable) {
  SmallDisk disk(folder_ + "/disk", "8m");
  ASSERT_TRUE(disk.ok());
  const std::string path = folder_ + "/disk/muster.db";
  const auto put = [](Store& store, int number) {
    return store.Update([&](Transaction& txn) { return txn.nodes().Put(LargeNode(number, 100)); });
  };
  {
    auto store = OpenStore(path);
    ASSERT_OK(store);
    ASSERT_OK(put(**store, 1));
  }
  ASSERT_TRUE(disk.MakeReadOnly(true));
  EXPECT_THAT(OpenStore(path),
              StatusIs(absl::StatusCode::kPermissionDenied, AllOf(Said(), HasSubstr(path))));
  ASSERT_TRUE(disk.MakeReadOnly(false));
  auto store = OpenStore(path);
  ASSERT_OK(store);
  EXPECT_OK(put(**store, 2));
  EXPECT_OK((*store)->View([](Transaction& txn) { return txn.nodes().Get("u1").status(); }));
}

TEST_F(StoreFaultTest, FileOfAnotherKindIsRefused) {
  std::ofstream(path_) << std::string(8192, 'x');
  EXPECT_THAT(OpenStore(path_),
              StatusIs(absl::StatusCode::kDataLoss, AllOf(Said(), HasSubstr(path_))));
}

TEST_F(StoreFaultTest, DamagedPagesAreFoundAtStart) {
  {
    auto store = OpenStore(path_);
    ASSERT_OK(store);
    for (int i = 0; i < 20; ++i) {
      ASSERT_OK(
          (*store)->Update([&](Transaction& txn) { return txn.nodes().Put(LargeNode(i, 3'000)); }));
    }
  }
  const auto size = std::filesystem::file_size(path_);
  ASSERT_GT(size, 8u * 4096);
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (uintmax_t page = 1; page < size / 4096; ++page) {
    file.seekp(static_cast<std::streamoff>(page * 4096));
    file << std::string(100, '\x5a');
  }
  file.close();
  EXPECT_THAT(OpenStore(path_),
              StatusIs(absl::StatusCode::kDataLoss, AllOf(Said(), HasSubstr(path_))));
}

}  // namespace
}  // namespace muster::controller
