// Backups of a running controller, and their restoration.
#include "controller/backup/backup.h"
#include "controller/backup/backup_record.h"

#include "controller/artifact/blob_store.h"
#include "controller/store/tables.h"
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

TEST_F(BackupTest, OldStateIsKeptAside) {
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  controller_.reset();
  ASSERT_OK(WithStore([](Transaction& txn) { return Note(txn, "after"); }));
  const auto restored = RestoreBackup(file_, Options(true, /*force=*/true), clock_);
  ASSERT_OK(restored);
  EXPECT_TRUE(std::filesystem::exists(restored->old_state + "/muster.db"));
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
