// Backups of a running controller, and their restoration.
#include "controller/backup/backup.h"
#include "controller/backup/backup_paths.h"
#include "controller/backup/backup_record.h"

#include "common/base/status.h"
#include "controller/artifact/blob_store.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

class BackupTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    Write(
        "controller.yaml",
        absl::StrCat("cluster: test\ncontroller_address: localhost:7443\npki_directory: ",
                     config_.pki_directory, "\nstate_directory: ", config_.state_directory, "\n"));
    file_ = (folder_ / "backup.tgz").string();
  }
  BackupOptions Options(bool with_passphrase = true, bool force = false) {
    BackupOptions options;
    options.config_path = (folder_ / "controller.yaml").string();
    if (with_passphrase) options.passphrase = SecretBuffer("correct horse battery");
    options.force = force;
    return options;
  }
  absl::Status WithStore(absl::FunctionRef<absl::Status(Transaction&)> fn) {
    const std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
    return store->Update(fn);
  }
  static absl::Status Note(Transaction& txn, const std::string& what) {
    EventRecord event;
    event.time = absl::UnixEpoch();
    event.actor = "admin:alice";
    event.action = what;
    return txn.events().Append(event);
  }

  std::string file_;
};

TEST_F(BackupTest, IsProvedAndBringsTheStateBack) {
  controller_.reset();
  ASSERT_OK(WithStore([&](Transaction& txn) -> absl::Status {
    EXPECT_OK(txn.nodes().Put({.uuid = "u1", .name = "c001", .last_run_result = "unreachable"}));
    RunRecord run;
    run.run_id = "r-1";
    EXPECT_OK(txn.runs().Put(run));
    return Note(txn, "before");
  }));
  // With a running run: a controller would end this one at its start, for lack of a bundle.
  const auto created = CreateBackup(file_, Options(), clock_);
  ASSERT_OK(created);
  Start();
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms(0600));
  const auto verified = VerifyBackup(file_, Options());
  ASSERT_OK(verified);
  EXPECT_TRUE(verified->keys_opened);
  EXPECT_EQ(verified->nodes, 1u);
  EXPECT_THAT(RestoreBackup(file_, Options(), clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  controller_.reset();

  ASSERT_OK(WithStore([](Transaction& txn) { return Note(txn, "after"); }));
  EXPECT_THAT(RestoreBackup(file_, Options(), clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  std::filesystem::remove_all(config_.state_directory);
  std::filesystem::remove_all(config_.pki_directory);
  const auto restored = RestoreBackup(file_, Options(), clock_);
  ASSERT_OK(restored);
  EXPECT_EQ(restored->ended_runs, 1u);
  ASSERT_OK(WithStore([](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.runs().Get("r-1")->state, RunRecord::kCancelled);
    EXPECT_EQ(txn.nodes().Get("u1")->last_run_result, "");
    EXPECT_EQ(*txn.events().FirstBroken(), std::nullopt);
    return absl::OkStatus();
  }));
  Start();
}

// What it wanted is as old as the backup.
TEST_F(BackupTest, NothingThatWasInProgressGoesOn) {
  controller_.reset();
  const absl::Time then = clock_.Now();
  ASSERT_OK(WithStore([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.nodes().Put({.uuid = "u1", .name = "c001"}));
    RunRecord run;
    run.run_id = "r-1";
    RETURN_IF_ERROR(txn.runs().Put(run));
    RETURN_IF_ERROR(txn.node_holds().Put({"u1", "r-1", "being rebooted", then}));
    RETURN_IF_ERROR(
        txn.reboots().Put({.permit_id = "p1", .run_id = "r-1", .node = "c001", .node_uuid = "u1"}));
    RETURN_IF_ERROR(txn.boots().PutOrder(
        {.node = "c001", .order_id = "p1", .choice = "stateful", .once = true}));
    RETURN_IF_ERROR(txn.boots().PutOrder({.node = "c002", .order_id = "o1", .choice = "ram"}));
    RETURN_IF_ERROR(txn.boots().PutOrder({.node = "c003", .order_id = "o2", .choice = "rescue"}));
    RETURN_IF_ERROR(txn.boots().PutOrder({.node = "c004", .order_id = "o3", .choice = "disk"}));
    RolloutRecord rollout;
    rollout.rollout_id = "u-1";
    rollout.state = v1::ROLLOUT_STATE_ROLLING;
    RETURN_IF_ERROR(txn.rollouts().Put(rollout));
    RolloutNodeRecord updated;
    updated.rollout_id = "u-1";
    updated.node = "c001";
    updated.node_uuid = "u1";
    updated.step = v1::ROLLOUT_STEP_APPLYING;
    updated.run_id = "r-1";
    RETURN_IF_ERROR(txn.rollouts().PutNode(updated));
    v1::RolloutEvent event;
    event.set_sequence(7);
    RETURN_IF_ERROR(txn.rollouts().AppendEvent({"u-1", 7, event.SerializeAsString()}));
    ValidationRecord validation;
    validation.validation_id = "v-1";
    RETURN_IF_ERROR(txn.validations().Put(validation));
    return txn.validations().PutNode({"v-1", "c001", "u1", 0, ""});
  }));
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  std::filesystem::remove_all(config_.state_directory);
  const auto restored = RestoreBackup(file_, Options(), clock_);
  ASSERT_OK(restored);
  EXPECT_EQ(restored->ended_runs, 1u);
  EXPECT_EQ(restored->ended_validations, 1u);
  EXPECT_EQ(restored->halted_rollouts, 1u);
  EXPECT_EQ(restored->removed_boot_orders, 2u);
  ASSERT_OK(WithStore([](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.rollouts().Get("u-1")->state, v1::ROLLOUT_STATE_PAUSED);
    EXPECT_EQ(txn.rollouts().ListNodes("u-1")->at(0).step, v1::ROLLOUT_STEP_FAILED);
    ASSIGN_OR_RETURN(const auto events, txn.rollouts().ListEvents("u-1", 7));
    v1::RolloutEvent paused;
    EXPECT_TRUE(paused.ParseFromString(events.back().event));
    EXPECT_EQ(paused.state(), v1::ROLLOUT_STATE_PAUSED);
    EXPECT_EQ(paused.sequence(), events.back().sequence);
    EXPECT_EQ(txn.validations().Get("v-1")->state, ValidationRecord::kCancelled);
    EXPECT_TRUE(txn.validations().Get("v-1")->finished_at.has_value());
    EXPECT_THAT(*txn.reboots().ListOpen("r-1"), ::testing::IsEmpty());
    ASSIGN_OR_RETURN(const auto orders, txn.boots().ListOrders());
    EXPECT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders.at(0).node, "c004") << "its disk is left alone";
    ASSIGN_OR_RETURN(const auto unseen, txn.restores().ListUnseen());
    EXPECT_EQ(unseen.size(), 1u);
    EXPECT_EQ(unseen.at(0).second, "c001");
    EXPECT_TRUE(txn.restores().RestoredAt()->has_value());
    ASSIGN_OR_RETURN(const auto holds, txn.node_holds().List());
    EXPECT_EQ(holds.size(), 1u);
    EXPECT_EQ(holds.at(0).owner, "u-1") << "its update has failed";
    ASSIGN_OR_RETURN(const auto last, txn.events().List(1, 0));
    EXPECT_EQ(last.at(0).action, "backup.restore");
    EXPECT_THAT(last.at(0).detail,
                ::testing::HasSubstr("1 run and 1 validation ended, 1 rollout halted"));
    return absl::OkStatus();
  }));
}

TEST_F(BackupTest, LeavesWhatBecameOfItForTheController) {
  const std::string folder = config_.state_directory;
  EXPECT_FALSE(ReadBackupRecord(folder).has_made_at());
  EXPECT_FALSE(CreateBackup("/nonexistent/b.tgz", Options(), clock_).ok());
  v1::BackupRecord record = ReadBackupRecord(folder);
  EXPECT_TRUE(record.has_failed_at());
  EXPECT_NE(record.error(), "");
  EXPECT_FALSE(record.has_made_at());
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  record = ReadBackupRecord(folder);
  EXPECT_TRUE(record.has_made_at());
  EXPECT_EQ(record.file(), file_);
  EXPECT_FALSE(record.has_failed_at());
  // A failure after it does not take it away, and damage is no backup.
  EXPECT_FALSE(CreateBackup(file_, Options(), clock_).ok());
  EXPECT_TRUE(ReadBackupRecord(folder).has_made_at());
  EXPECT_TRUE(ReadBackupRecord(folder).has_failed_at());
  std::ofstream(folder + "/last_backup") << "\xff\xff";
  EXPECT_FALSE(ReadBackupRecord(folder).has_made_at());
  // A restored controller is as old as its backup.
  controller_.reset();
  std::filesystem::remove_all(folder);
  ASSERT_OK(RestoreBackup(file_, Options(), clock_));
  EXPECT_EQ(ReadBackupRecord(folder).file(), file_);
  EXPECT_TRUE(ReadBackupRecord(folder).has_made_at());
}

TEST_F(BackupTest, WhatAnInterruptedOneHasLeftGoesWithTheNext) {
  const std::filesystem::path left =
      OwnFolderOnTheWayTo(config_.state_directory) + "/.muster-backup-a1b2c3";
  std::filesystem::create_directory(left);
  std::ofstream(left / "store.db") << "half";
  Write(".earlier.tgz.partial-12", "half");
  Write("earlier.tgz", "whole");
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_FALSE(std::filesystem::exists(folder_ / ".earlier.tgz.partial-12"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "earlier.tgz"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_THAT(entry.path().filename().string(), ::testing::Not(::testing::HasSubstr("partial")));
}

// There, one process cleans for the copy of the store as well.
TEST_F(BackupTest, WhatAnInterruptedOneHasLeftGoesBesideTheCopyOfTheStore) {
  const std::filesystem::path folder = OwnFolderOnTheWayTo(config_.state_directory);
  std::filesystem::create_directory(folder / ".muster-backup-a1b2c3");
  std::ofstream(folder / ".earlier.tgz.partial-12") << "half";
  ASSERT_OK(CreateBackup((folder / "here.tgz").string(), Options(), clock_));
  EXPECT_FALSE(std::filesystem::exists(folder / ".muster-backup-a1b2c3"));
  EXPECT_FALSE(std::filesystem::exists(folder / ".earlier.tgz.partial-12"));
}

TEST_F(BackupTest, OldStateIsKeptAside) {
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  controller_.reset();
  ASSERT_OK(WithStore([](Transaction& txn) { return Note(txn, "after"); }));
  const auto restored = RestoreBackup(file_, Options(true, /*force=*/true), clock_);
  ASSERT_OK(restored);
  EXPECT_TRUE(std::filesystem::exists(restored->old_state + "/muster.db"));
  Start();
}

TEST_F(BackupTest, AfterARestoreThatWasCutOffNothingStartsUntilItIsRepeated) {
  controller_.reset();
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  muster::testing::FakeClock clock(absl::FromUnixSeconds(1'900'000'000));
  // The present certificates cannot be kept there.
  Write("pki/before-restore-20300317T174640Z", "no folder");
  EXPECT_FALSE(RestoreBackup(file_, Options(), clock).ok());
  const std::string store = config_.state_directory + "/muster.db";
  EXPECT_FALSE(std::filesystem::exists(store)) << "it was not cut off where it hurts";
  EXPECT_THAT(Controller::Start(config_, clock_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_FALSE(std::filesystem::exists(store));

  ASSERT_OK(RestoreBackup(file_, Options(), clock_));
  ASSERT_OK(WithStore([](Transaction& txn) { return txn.inventory().Latest().status(); }));
  Start();
}

TEST_F(BackupTest, NoOtherPassphraseOpensItsKeys) {
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  EXPECT_THAT(CreateBackup(file_, Options(), clock_),
              StatusIs(absl::StatusCode::kAlreadyExists, Said()));
  BackupOptions other = Options();
  other.passphrase = SecretBuffer("another passphrase");
  EXPECT_THAT(VerifyBackup(file_, other), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  const auto sealed = VerifyBackup(file_, Options(/*with_passphrase=*/false));
  ASSERT_OK(sealed);
  EXPECT_TRUE(sealed->has_keys);
  EXPECT_FALSE(sealed->keys_opened);
}

TEST_F(BackupTest, WithoutKeysItNeedsThoseOfTheMachine) {
  const auto created = CreateBackup(file_, Options(/*with_passphrase=*/false), clock_);
  ASSERT_OK(created);
  EXPECT_FALSE(created->has_keys);
  controller_.reset();
  std::filesystem::remove(config_.state_directory + "/muster.db");
  ASSERT_OK(RestoreBackup(file_, Options(false), clock_));
  std::filesystem::remove(config_.state_directory + "/muster.db");
  std::filesystem::remove(config_.pki_directory + "/ca.key");
  EXPECT_THAT(RestoreBackup(file_, Options(false), clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller
