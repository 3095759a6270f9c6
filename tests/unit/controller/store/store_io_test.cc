// A store with a fault at each write, sync and truncation in turn, from its making to its end.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/small_disk.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/store/failing_vfs.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kEntries = 24;
constexpr size_t kSmall = 100;
// So large that SQLite moves its log into the file meanwhile (at 1,000 pages).
constexpr size_t kLarge = 200'000;
constexpr int kPlaces = 30;  // out of the thousands of equal writes of large entries

class StoreIoTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(disk_->ok()); }
  void TearDown() override {
    disk_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Checks the administrator's message.
  void ExpectClear(const absl::Status& status) {
    ++refused_;
    EXPECT_THAT(status.ToString(),
                AllOf(HasSubstr(path_), AnyOf(HasSubstr("df -h"), HasSubstr("dmesg"))));
  }

  // Makes and fills a store, and retries failed operations, like the controller.
  void Live(size_t entry_bytes) {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
    auto store = OpenStore(path_);
    for (int tries = 0; !store.ok() && tries < 10; ++tries) {
      ExpectClear(store.status());
      store = OpenStore(path_);
    }
    ASSERT_OK(store);
    for (int i = 0; i < kEntries; ++i) {
      EventRecord event;
      event.action = absl::StrCat("entry ", i);
      event.detail = std::string(entry_bytes, 'd');
      const auto append = [&] {
        return (*store)->Update([&](Transaction& txn) { return txn.events().Append(event); });
      };
      absl::Status status = append();
      for (int tries = 0; !status.ok() && tries < 10; ++tries) {
        ExpectClear(status);
        status = append();
      }
      ASSERT_OK(status);
    }
  }

  // Each entry once and in order.
  void ExpectAll() {
    auto store = OpenStore(path_);
    ASSERT_OK(store);
    std::vector<std::string> actions, expected;
    EXPECT_OK((*store)->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto broken, txn.events().FirstBroken());
      EXPECT_FALSE(broken.has_value());
      ASSIGN_OR_RETURN(const auto events, txn.events().List(1000, 0));
      for (const EventRecord& event : events) actions.push_back(event.action);
      return absl::OkStatus();
    }));
    std::reverse(actions.begin(), actions.end());
    for (int i = 0; i < kEntries; ++i) expected.push_back(absl::StrCat("entry ", i));
    EXPECT_EQ(actions, expected);
  }

  // The number of operations of a life without faults.
  int Measure(size_t entry_bytes) {
    vfs_.FailAt(0, 0, SQLITE_OK);
    Live(entry_bytes);
    ExpectAll();
    EXPECT_EQ(refused_, 0);
    return vfs_.operations();
  }
  void LiveWithFault(size_t entry_bytes, int first) {
    const int count = first % 3 == 0 ? 5 : 1;
    const int error = first % 2 == 0 ? SQLITE_FULL : SQLITE_IOERR;
    SCOPED_TRACE(absl::StrCat("operation ", first, ", ", count, " times, error ", error));
    vfs_.FailAt(first, count, error);
    Live(entry_bytes);
    vfs_.FailAt(0, 0, SQLITE_OK);
    ExpectAll();
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "muster_io_", getpid());
  const std::string path_ = folder_ + "/muster.db";
  std::unique_ptr<muster::testing::SmallDisk> disk_ =
      std::make_unique<muster::testing::SmallDisk>(folder_, "64m");
  muster::testing::FailingVfs vfs_;
  int refused_ = 0;
};

TEST_F(StoreIoTest, FaultWhileItIsMadeAndUsedLosesNothingAndPasses) {
  const int operations = Measure(kSmall);
  ASSERT_GT(operations, 150);
  for (int first = 1; first <= operations; ++first) LiveWithFault(kSmall, first);
  EXPECT_GT(refused_, operations / 2);
}

TEST_F(StoreIoTest, FaultWhileTheLogIsMovedLosesNothingAndPasses) {
  const int operations = Measure(kLarge);
  ASSERT_GT(operations, 1000);
  std::mt19937 random(20260101);
  for (int i = 0; i < kPlaces; ++i)
    LiveWithFault(kLarge, 1 + static_cast<int>(random() % operations));
  EXPECT_GT(refused_, kPlaces / 2);
}

}  // namespace
}  // namespace muster::controller
