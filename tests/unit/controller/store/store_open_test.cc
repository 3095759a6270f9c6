#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/headers.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class StoreOpenTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Changes the file as somebody with a database tool could.
  absl::Status Tamper(const std::string& sql) {
    return Guard(path_, "tampering", [&]() -> absl::Status {
      soci::session session(*soci::factory_sqlite3(), absl::StrCat("dbname=", path_));
      session << sql;
      return absl::OkStatus();
    });
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "muster_open_", getpid());
  const std::string path_ = folder_ + "/muster.db";
};

TEST_F(StoreOpenTest, RowsSurviveAndTheFileIsPrivate) {
  {
    auto store = OpenStore(path_);
    ASSERT_OK(store);
    ASSERT_OK((*store)->Update(
        [](Transaction& txn) { return txn.nodes().Put({.uuid = "u1", .name = "c001"}); }));
    EXPECT_GT((*store)->SizeBytes(), 4096u);
  }
  for (const char* suffix : {"", ".lock"}) {
    struct stat info;
    ASSERT_EQ(stat((path_ + suffix).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << suffix;
  }
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  ASSERT_OK((*store)->View([](Transaction& txn) { return txn.nodes().Get("u1").status(); }));
}

TEST(LongestCheck, IsMinutesForGigabytes) {
  EXPECT_EQ(LongestCheck(0), absl::ZeroDuration());
  EXPECT_EQ(LongestCheck(4'096'000), absl::Seconds(1));
  EXPECT_GT(LongestCheck(uint64_t{10} << 30), absl::Minutes(40));
}

TEST_F(StoreOpenTest, SecondOpenerIsToldWhoHoldsIt) {
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  EXPECT_THAT(OpenStore(path_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         AllOf(Said(), HasSubstr(path_),
                                               HasSubstr(absl::StrCat("process ", getpid())))));
  store->reset();
  EXPECT_OK(OpenStore(path_));
}

TEST_F(StoreOpenTest, KilledHolderLeavesNoLock) {
  const pid_t child = fork();
  if (child == 0) {
    auto store = OpenStore(path_);
    if (!store.ok()) _exit(1);
    const absl::Status put = (*store)->Update(
        [](Transaction& txn) { return txn.nodes().Put({.uuid = "u1", .name = "c001"}); });
    if (!put.ok()) _exit(2);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  ASSERT_OK((*store)->View([](Transaction& txn) { return txn.nodes().Get("u1").status(); }));
}

TEST_F(StoreOpenTest, MissingFolderIsNamed) {
  EXPECT_THAT(OpenStore(folder_ + "/nowhere/muster.db"),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(StoreOpenTest, ALinkToAFileIsNotFollowedButOneToTheFolderIs) {
  std::filesystem::create_symlink(folder_ + "/elsewhere.db", path_);
  EXPECT_THAT(OpenStore(path_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/elsewhere.db"));
  std::filesystem::create_directory(folder_ + "/real");
  std::filesystem::create_directory_symlink(folder_ + "/real", folder_ + "/link");
  EXPECT_OK(OpenStore(folder_ + "/link/muster.db"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/real/muster.db"));
}

TEST_F(StoreOpenTest, NewerSchemaIsRefused) {
  ASSERT_OK(OpenStore(path_));
  ASSERT_OK(Tamper("INSERT INTO migrations (version, name) VALUES (99, 'future')"));
  EXPECT_THAT(OpenStore(path_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

// Version 31 tells what runs of before have not applied; of the others it does not know.
TEST_F(StoreOpenTest, RunsOfBeforeAreToldApartByWhatTheyApplied) {
  const absl::Time now = absl::FromUnixSeconds(1700000000);
  {
    auto store = OpenStore(path_);
    ASSERT_OK(store);
    ASSERT_OK((*store)->Update([&](Transaction& txn) -> absl::Status {
      const auto put = [&](const char* id, RunRecord::State state, const char* by = "admin:alice",
                           const char* catches_up = "") {
        return txn.runs().Put({.run_id = id,
                               .state = state,
                               .created_by = by,
                               .created_at = now,
                               .catches_up_run_id = catches_up});
      };
      RETURN_IF_ERROR(put("r-whole", RunRecord::kSucceeded));
      RETURN_IF_ERROR(put("r-running", RunRecord::kRunning));
      RETURN_IF_ERROR(put("r-failed", RunRecord::kFailed));
      RETURN_IF_ERROR(put("r-cancelled", RunRecord::kCancelled));
      RETURN_IF_ERROR(put("r-drift", RunRecord::kSucceeded, "policy:drift/site"));
      RETURN_IF_ERROR(put("r-late", RunRecord::kSucceeded, "controller", "r-failed"));
      RETURN_IF_ERROR(put("r-part", RunRecord::kSucceeded));
      RETURN_IF_ERROR(txn.rollouts().Put({.rollout_id = "u-1", .state = 1, .created_at = now}));
      return txn.rollouts().PutNode({.rollout_id = "u-1",
                                     .node = "c001",
                                     .node_uuid = "u1",
                                     .step = 1,
                                     .since = now,
                                     .run_id = "r-part"});
    }));
  }
  for (const char* sql : {"DROP INDEX runs_applies", "ALTER TABLE runs DROP COLUMN applies",
                          "DROP TABLE restored_nodes", "DROP TABLE restores",
                          "ALTER TABLE rollouts DROP COLUMN forgiven_out",
                          "ALTER TABLE health_drains DROP COLUMN known_parts",
                          "ALTER TABLE run_nodes DROP COLUMN result_bytes",
                          "DELETE FROM migrations WHERE version >= 31"}) {
    ASSERT_OK(Tamper(sql));
  }
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  ASSERT_OK((*store)->View([](Transaction& txn) -> absl::Status {
    for (const char* id : {"r-whole", "r-running"})
      EXPECT_EQ(txn.runs().Get(id)->applies, std::nullopt) << id;
    for (const char* id : {"r-failed", "r-cancelled", "r-drift", "r-late", "r-part"})
      EXPECT_EQ(txn.runs().Get(id)->applies, "") << id;
    return absl::OkStatus();
  }));
}

// Version 33 counts nodes that went out of service apart from those that failed.
TEST_F(StoreOpenTest, WhatWasForgivenBeforeIsToldApart) {
  const absl::Time now = absl::FromUnixSeconds(1700000000);
  {
    auto store = OpenStore(path_);
    ASSERT_OK(store);
    ASSERT_OK((*store)->Update([&](Transaction& txn) -> absl::Status {
      for (const char* id : {"u-1", "u-2"}) {
        const uint32_t forgiven = id == absl::string_view("u-1") ? 3 : 1;
        RETURN_IF_ERROR(txn.rollouts().Put(
            {.rollout_id = id, .state = 3, .created_at = now, .forgiven = forgiven}));
        const int steps[] = {7, 8, 6};  // failed, quarantined, done
        for (int i = 0; i < 3; ++i)
          RETURN_IF_ERROR(txn.rollouts().PutNode({.rollout_id = id,
                                                  .node = absl::StrCat("c00", i),
                                                  .node_uuid = absl::StrCat("u", i),
                                                  .step = steps[i],
                                                  .since = now}));
      }
      return absl::OkStatus();
    }));
  }
  for (const char* sql : {"ALTER TABLE rollouts DROP COLUMN forgiven_out",
                          "ALTER TABLE health_drains DROP COLUMN known_parts",
                          "ALTER TABLE run_nodes DROP COLUMN result_bytes",
                          "DELETE FROM migrations WHERE version >= 33"}) {
    ASSERT_OK(Tamper(sql));
  }
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  ASSERT_OK((*store)->Update([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(RolloutRecord both, txn.rollouts().Get("u-1"));
    EXPECT_EQ(both.forgiven, 2u);
    EXPECT_EQ(both.forgiven_out, 1u);
    ASSIGN_OR_RETURN(const RolloutRecord failed, txn.rollouts().Get("u-2"));
    EXPECT_EQ(failed.forgiven, 1u);
    EXPECT_EQ(failed.forgiven_out, 0u);
    both.forgiven_out = 5;
    RETURN_IF_ERROR(txn.rollouts().Put(both));
    EXPECT_EQ(txn.rollouts().Get("u-1")->forgiven_out, 5u);
    return absl::OkStatus();
  }));
}

TEST_F(StoreOpenTest, ForeignLockBecomesUnavailableNotAHang) {
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  ASSERT_OK(Guard(path_, "foreign lock", [&]() -> absl::Status {
    soci::session session(*soci::factory_sqlite3(), absl::StrCat("dbname=", path_));
    session << "BEGIN IMMEDIATE";
    EXPECT_THAT((*store)->Update([](Transaction&) { return absl::OkStatus(); }),
                StatusIs(absl::StatusCode::kUnavailable, AllOf(Said(), HasSubstr(path_))));
    return absl::OkStatus();
  }));
  EXPECT_OK((*store)->Update([](Transaction&) { return absl::OkStatus(); }));
}

TEST_F(StoreOpenTest, AuditLogRefusesChangesAndShowsForgery) {
  {
    auto store = OpenStore(path_);
    ASSERT_OK(store);
    for (const char* action : {"token.create", "node.remove", "run.create"}) {
      ASSERT_OK((*store)->Update([&](Transaction& txn) {
        return txn.events().Append(
            {.time = absl::FromUnixSeconds(1), .actor = "admin:mallory", .action = action});
      }));
    }
  }
  EXPECT_THAT(Tamper("UPDATE events SET actor = 'admin:alice' WHERE sequence = 2"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(Tamper("DELETE FROM events WHERE sequence = 2"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // Somebody who can drop the trigger can change the row, but not the hashes that cover it.
  ASSERT_OK(Tamper("DROP TRIGGER events_never_change"));
  ASSERT_OK(Tamper("UPDATE events SET actor = 'admin:alice' WHERE sequence = 2"));
  auto store = OpenStore(path_);
  ASSERT_OK(store);
  ASSERT_OK((*store)->View([](Transaction& txn) -> absl::Status {
    EXPECT_EQ(*txn.events().FirstBroken(), std::optional<uint64_t>(2));
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller
