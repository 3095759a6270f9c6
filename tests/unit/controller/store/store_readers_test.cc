// Readers beside writers and beside each other.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/base/status.h"
#include "controller/store/soci/connection.h"
#include "controller/store/soci/readers.h"
#include "controller/store/soci/store.h"
#include "controller/store/stored_facts.h"
#include "controller/store/tables.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

absl::Status PutNode(Store& store, const std::string& uuid, const std::string& description = "") {
  return store.Update([&](Transaction& txn) {
    NodeRecord node;
    node.uuid = uuid;
    node.name = uuid;
    node.description = description;
    return txn.nodes().Put(node);
  });
}

size_t CountNodes(Store& store) {
  size_t count = 0;
  EXPECT_OK(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto nodes, txn.nodes().List());
    count = nodes.size();
    return absl::OkStatus();
  }));
  return count;
}

class StoreReadersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    auto store = OpenStore(path_);
    ASSERT_OK(store);
    store_ = *std::move(store);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "muster_readers_", getpid());
  const std::string path_ = folder_ + "/muster.db";
  std::unique_ptr<Store> store_;
};

// Each of these threads would wait for ever if one of them kept another out.
TEST_F(StoreReadersTest, ReaderThatTakesItsTimeKeepsNobodyOut) {
  ASSERT_OK(PutNode(*store_, "u1"));
  absl::Notification reads, may_end;
  std::thread slow([&] {
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.nodes().Get("u1").status());
      reads.Notify();
      EXPECT_TRUE(may_end.WaitForNotificationWithTimeout(kLong));
      return absl::OkStatus();
    }));
  });
  ASSERT_TRUE(reads.WaitForNotificationWithTimeout(kLong));
  EXPECT_OK(PutNode(*store_, "u2"));
  EXPECT_EQ(CountNodes(*store_), 2u);
  may_end.Notify();
  slow.join();
}

TEST_F(StoreReadersTest, WriterThatTakesItsTimeKeepsNoReaderOut) {
  EXPECT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.nodes().Put({.uuid = "u1", .name = "c001"}));
    size_t seen = 1;
    std::thread([&] { seen = CountNodes(*store_); }).join();
    EXPECT_EQ(seen, 0u) << "what is not committed";
    return absl::OkStatus();
  }));
  EXPECT_EQ(CountNodes(*store_), 1u) << "what the same thread has committed";
}

TEST_F(StoreReadersTest, ViewSeesOneStateThroughout) {
  ASSERT_OK(PutNode(*store_, "u0"));
  EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.nodes().List()->size(), 1u);
    std::thread([&] { EXPECT_OK(PutNode(*store_, "u1")); }).join();
    EXPECT_EQ(txn.nodes().List()->size(), 1u);
    EXPECT_FALSE(txn.nodes().Get("u1").ok());
    return absl::OkStatus();
  }));
  EXPECT_EQ(CountNodes(*store_), 2u);
}

TEST_F(StoreReadersTest, MoreViewsThanConnectionsWaitForOne) {
  ASSERT_OK(PutNode(*store_, "u1"));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4 * SociReaders::kCount; ++i) {
    threads.emplace_back([this] {
      for (int turn = 0; turn < 50; ++turn) EXPECT_GE(CountNodes(*store_), 1u);
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_OK(PutNode(*store_, absl::StrCat("w", i)));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CountNodes(*store_), 51u);
}

TEST_F(StoreReadersTest, ViewThatFailsLeavesItsConnectionUsable) {
  ASSERT_OK(PutNode(*store_, "u1"));
  for (size_t i = 0; i < 2 * SociReaders::kCount; ++i) {
    EXPECT_TRUE(absl::IsNotFound(
        store_->View([](Transaction& txn) { return txn.nodes().Get("nobody").status(); })));
  }
  EXPECT_OK(PutNode(*store_, "u2"));
  EXPECT_EQ(CountNodes(*store_), 2u);
}

TEST_F(StoreReadersTest, ViewCannotWrite) {
  EXPECT_FALSE(
      store_->View([](Transaction& txn) { return txn.nodes().Put({.uuid = "u1", .name = "c1"}); })
          .ok());
  EXPECT_EQ(CountNodes(*store_), 0u);
}

// Thousands of facts take seconds to parse: meanwhile nobody may be kept out of the store, not even
// out of one with a single connection.
TEST_F(StoreReadersTest, FactsOfAllNodesAreHandledOutsideOfTransactions) {
  constexpr int kNodes = 150;  // several pages
  for (const auto& in_memory : {true, false}) {
    const std::unique_ptr<Store> other = in_memory ? *OpenStore(":memory:") : nullptr;
    Store& store = in_memory ? *other : *store_;
    ASSERT_OK(store.Update([](Transaction& txn) -> absl::Status {
      for (int i = 0; i < kNodes; ++i) {
        const std::string name = absl::StrFormat("c%03d", i);
        RETURN_IF_ERROR(txn.nodes().Put({.uuid = name, .name = name}));
        if (i % 10 != 0) RETURN_IF_ERROR(txn.nodes().PutFacts(name, "facts of " + name));
      }
      return absl::OkStatus();
    }));
    std::vector<std::string> seen;
    EXPECT_OK(ForEachFacts(store, [&](const std::string& name, const std::string& facts) {
      seen.push_back(name);
      EXPECT_EQ(facts, "facts of " + name);
      EXPECT_OK(store.Update([&](Transaction& txn) { return txn.nodes().PutFacts(name, "new"); }));
    }));
    EXPECT_EQ(seen.size(), static_cast<size_t>(kNodes - kNodes / 10));
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  }
}

// SQLite restarts its log only when nobody reads: readers that take turns would let it grow.
TEST_F(StoreReadersTest, ReadersThatOverlapDoNotLetTheLogGrowForGood) {
  constexpr size_t kRowBytes = 1 << 20;
  constexpr size_t kLimit = size_t{4096} * SociConnection::kMaxLogPages;
  // Each reads for longer than a commit takes, and until the other one reads.
  constexpr absl::Duration kTurn = absl::Milliseconds(20);
  std::atomic<int> begun = 0;
  std::atomic<bool> is_over = false;
  const auto read = [&] {
    while (!is_over) {
      EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
        EXPECT_OK(txn.nodes().List());
        const int own = ++begun;
        while (begun == own && !is_over) absl::SleepFor(kTurn);
        return absl::OkStatus();
      }));
    }
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) readers.emplace_back(read);
  // The log was restarted if a quarter of the limit was written and it did not grow. On a busy
  // machine readers may take too long in some of the tries.
  size_t largest = 0, since = 0, row = 0;
  while (since < kLimit / 4 && largest < 6 * kLimit) {
    // SQLite does not write unchanged pages.
    EXPECT_OK(PutNode(*store_, "u", std::string(kRowBytes, static_cast<char>('a' + ++row % 2))));
    const size_t size = std::filesystem::file_size(path_ + "-wal");
    since = size > largest ? 0 : since + kRowBytes;
    largest = std::max(largest, size);
  }
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GE(largest, kLimit / 2) << "readers that did not overlap show nothing";
  EXPECT_LT(largest, 6 * kLimit);
}

}  // namespace
}  // namespace muster::controller
