// A store whose bits flip, or whose files somebody moves or cuts off while it is open.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/headers.h"
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

constexpr int kEvents = 120;
const absl::Time kDamageNow = absl::FromUnixSeconds(1'900'000'000);

EventRecord Event(int number) {
  EventRecord event;
  event.time = kDamageNow + absl::Seconds(number);
  event.actor = "admin:alice";
  event.action = "token.create";
  event.subject = absl::StrCat("c", number);
  event.detail = std::string(100, 'd');
  return event;
}

absl::Status Append(Store& store, int number) {
  return store.Update([&](Transaction& txn) { return txn.events().Append(Event(number)); });
}

// Rows in the tables that carry most of a real store.
absl::Status Fill(Store& store) {
  return store.Update([](Transaction& txn) -> absl::Status {
    RunRecord run;
    run.run_id = "r-1";
    run.created_at = kDamageNow;
    run.plays = {"first"};
    RETURN_IF_ERROR(txn.runs().Put(run));
    for (int i = 0; i < 30; ++i) {
      NodeRecord node;
      node.uuid = absl::StrCat("uuid-", i);
      node.name = absl::StrCat("c", i);
      RETURN_IF_ERROR(txn.nodes().Put(node));
      RETURN_IF_ERROR(txn.nodes().PutFacts(node.uuid, std::string(500, 'f')));
      StepResultRecord result;
      result.run_id = "r-1";
      result.node = node.name;
      result.sequence = static_cast<uint64_t>(i) + 1;
      result.step_id = "role/step";
      result.result = std::string(200, 'r');
      result.time = kDamageNow;
      RETURN_IF_ERROR(txn.step_results().Put(result));
    }
    for (int i = 1; i <= kEvents; ++i) RETURN_IF_ERROR(txn.events().Append(Event(i)));
    return absl::OkStatus();
  });
}

// The audit log as it is read, one line per entry; an error if its chain is reported as broken.
absl::StatusOr<std::vector<std::string>> ReadAudit(Store& store) {
  std::vector<std::string> lines;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto broken, txn.events().FirstBroken());
    if (broken.has_value()) return absl::DataLossError(absl::StrCat("entry ", *broken));
    ASSIGN_OR_RETURN(const auto events, txn.events().List(10 * kEvents, 0));
    for (const EventRecord& event : events) {
      lines.push_back(absl::StrCat(event.sequence, event.actor, event.peer, event.action,
                                   event.subject, event.detail, absl::FormatTime(event.time)));
    }
    return absl::OkStatus();
  }));
  return lines;
}

// A controller's everyday work.
absl::Status Use(Store& store) {
  RETURN_IF_ERROR(store.View([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.nodes().List().status());
    RETURN_IF_ERROR(txn.nodes().ForEachFacts([](const std::string&, const std::string&) {}));
    RETURN_IF_ERROR(txn.runs().List(10).status());
    RETURN_IF_ERROR(txn.step_results().List("r-1", "").status());
    return txn.certificates().ListDenied().status();
  }));
  return store.Update([](Transaction& txn) -> absl::Status {
    NodeRecord node;
    node.uuid = "uuid-new";
    node.name = "new";
    RETURN_IF_ERROR(txn.nodes().Put(node));
    StepResultRecord result;
    result.run_id = "r-1";
    result.node = "c7";
    result.sequence = 1000;
    result.step_id = "role/other";
    result.time = kDamageNow;
    RETURN_IF_ERROR(txn.step_results().Put(result));
    return txn.events().Append(Event(kEvents + 1));
  });
}

class StoreDamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    disk_ = std::make_unique<SmallDisk>(folder_, "32m");
    ASSERT_TRUE(disk_->ok());
    store_ = *OpenStore(path_);
    ASSERT_OK(Fill(*store_));
    audit_ = *ReadAudit(*store_);
    ASSERT_EQ(audit_.size(), static_cast<size_t>(kEvents));
  }
  void TearDown() override {
    store_.reset();
    disk_.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::string Bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  void RemoveFiles() {
    store_.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "muster_damage_", getpid());
  const std::string path_ = folder_ + "/muster.db";
  std::unique_ptr<SmallDisk> disk_;
  std::unique_ptr<Store> store_;
  std::vector<std::string> audit_;
};

TEST_F(StoreDamageTest, FlippedBitIsRefusedOrHarmless) {
  store_.reset();
  const std::string whole = Bytes(path_);
  std::mt19937 random(20260101);
  std::map<std::string, int> seen;
  for (size_t i = 0; i < 800; ++i) {
    // Each byte of the header first, then anywhere.
    const size_t at = i < 100 ? i : random() % whole.size();
    const int bit = static_cast<int>(random() % 8);
    SCOPED_TRACE(absl::StrCat("byte ", at, ", bit ", bit));
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
    RemoveFiles();
    Write(path_, bytes);
    auto store = OpenStore(path_);
    if (!store.ok()) {
      ++seen["refused"];
      EXPECT_THAT(std::string(store.status().message()),
                  AllOf(HasSubstr(path_), HasSubstr("backup")));
      continue;
    }
    const auto audit = ReadAudit(**store);
    if (audit.ok()) {
      EXPECT_EQ(*audit, audit_);
    } else {
      ++seen["audit log"];
      EXPECT_EQ(audit.status().code(), absl::StatusCode::kDataLoss) << audit.status();
    }
    if (const absl::Status used = Use(**store); !used.ok()) {
      ++seen["use"];
      EXPECT_THAT(std::string(used.message()),
                  AllOf(HasSubstr(path_), HasSubstr("backup restore")));
    } else {
      ++seen["harmless"];
    }
  }
  for (const char* end : {"refused", "audit log", "harmless"}) EXPECT_GT(seen[end], 20) << end;
}

// In the log that SQLite writes first, after kill -9: the part before the damage counts.
TEST_F(StoreDamageTest, FlippedBitOfTheWriteAheadLogLeavesWhatPrecedes) {
  store_.reset();
  store_ = *OpenStore(path_);
  for (int i = 1; i <= 20; ++i) ASSERT_OK(Append(*store_, kEvents + i));
  const std::string database = Bytes(path_), log = Bytes(path_ + "-wal");
  std::mt19937 random(20260102);
  size_t shortest = 1000;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = log;
    const size_t at = random() % bytes.size();
    SCOPED_TRACE(at);
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
    RemoveFiles();
    Write(path_, database);
    Write(path_ + "-wal", bytes);
    auto store = OpenStore(path_);
    ASSERT_OK(store);
    const auto audit = ReadAudit(**store);
    ASSERT_OK(audit);
    ASSERT_GE(audit->size(), audit_.size());
    EXPECT_EQ(std::vector<std::string>(audit->end() - kEvents, audit->end()), audit_);
    EXPECT_OK(Use(**store));
    shortest = std::min(shortest, audit->size());
  }
  EXPECT_LT(shortest, static_cast<size_t>(kEvents) + 10);
}

// SQLite alone would continue, from its cache and the files that it has open.
TEST_F(StoreDamageTest, StoreThatIsMovedAwayStoresNothingUntilItIsBack) {
  for (const char* suffix : {"", "-wal"}) {
    SCOPED_TRACE(suffix);
    const std::string file = path_ + suffix;
    for (const bool is_replaced : {false, true}) {
      std::filesystem::rename(file, folder_ + "/elsewhere");
      if (is_replaced) std::filesystem::copy_file(folder_ + "/elsewhere", file);
      EXPECT_THAT(Append(*store_, 1),
                  StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(Said(), HasSubstr(file))));
      EXPECT_FALSE(ReadAudit(*store_).ok());
      std::filesystem::rename(folder_ + "/elsewhere", file);
      EXPECT_OK(Append(*store_, 1));
      audit_ = *ReadAudit(*store_);
    }
  }
  store_.reset();
  EXPECT_EQ(*ReadAudit(**OpenStore(path_)), audit_);
}

// SQLite alone would begin a new store, and remove the log.
TEST_F(StoreDamageTest, LogWithoutItsDatabaseIsKept) {
  const std::string log = Bytes(path_ + "-wal");  // as at a crash
  store_.reset();
  const std::string database = Bytes(path_);
  const std::string log_path = path_ + "-wal";
  for (const bool is_empty : {false, true}) {
    SCOPED_TRACE(is_empty);
    std::filesystem::remove(path_);
    if (is_empty) Write(path_, "");
    Write(log_path, log);
    EXPECT_THAT(OpenStore(path_),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(Said(), HasSubstr(log_path))));
    EXPECT_EQ(std::filesystem::exists(path_), is_empty);
    EXPECT_EQ(Bytes(log_path), log);
  }
  Write(path_, database);
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  EXPECT_EQ(*ReadAudit(**store), audit_);
}

TEST_F(StoreDamageTest, StoreThatIsCutOffIsToldSo) {
  struct Case {
    const char* suffix;
    double keep;
    bool is_checkpointed;
  };
  for (const Case& c :
       {Case{"", 0, true}, Case{"", 0.5, true}, Case{"-wal", 0, false}, Case{"-wal", 0.5, false}}) {
    SCOPED_TRACE(absl::StrCat(c.suffix, " to ", c.keep));
    RemoveFiles();
    store_ = *OpenStore(path_);
    ASSERT_OK(Fill(*store_));
    if (c.is_checkpointed) {
      store_.reset();  // checkpoints
      store_ = *OpenStore(path_);
    }
    const std::string file = path_ + c.suffix;
    const auto size = static_cast<double>(std::filesystem::file_size(file));
    std::filesystem::resize_file(file, static_cast<uintmax_t>(size * c.keep));
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(Append(*store_, 1),
                  StatusIs(absl::StatusCode::kDataLoss, AllOf(Said(), HasSubstr(path_))));
    }
  }
}

TEST_F(StoreDamageTest, ToolThatCompactsTheFileIsNoDamage) {
  ASSERT_OK(Guard(path_, "compacting", [&]() -> absl::Status {
    soci::session session(*soci::factory_sqlite3(), absl::StrCat("dbname=", path_));
    session << "DELETE FROM step_results";
    session << "VACUUM";
    session << "PRAGMA wal_checkpoint(TRUNCATE)";
    return absl::OkStatus();
  }));
  EXPECT_EQ(std::filesystem::file_size(path_ + "-wal"), 0u);
  EXPECT_OK(Use(*store_));
  store_.reset();
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  EXPECT_EQ(ReadAudit(**store)->size(), audit_.size() + 1);
}

}  // namespace
}  // namespace muster::controller
