#include <pwd.h>
#include <unistd.h>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/sys/file_system.h"
#include "controller/artifact/blob_store.h"
#include "controller/audit/audit.h"
#include "controller/backup/backup.h"
#include "controller/backup/backup_contents.h"
#include "controller/backup/backup_paths.h"
#include "controller/backup/backup_record.h"
#include "controller/backup/open_folder.h"
#include "controller/rollout/rollout_halt.h"
#include "controller/run/reboot_permits.h"
#include "controller/store/lock_file.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/validation_salvage.h"

namespace muster::controller {
namespace {

namespace fs = std::filesystem;

// The account that musterd runs as, made by its package.
constexpr char kServiceUser[] = "muster";
// BootOrderRecord::choice of an order to boot the disk.
constexpr absl::string_view kBootDisk = "disk";
// In the state folder.
constexpr char kStore[] = "muster.db";

absl::Status NewerStore(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the store ", path, " ", why,
                   ": restoring takes the cluster back to the time of the backup. If you want "
                   "that, pass --force; the current store is kept aside either way"));
}

// Entries of the store at `path`, in the folder `state`, that the backup at `backup` lacks must not
// be lost by mistake. Root opens a copy: musterd's account owns the files, and SQLite follows links
// and removes what a rollback journal names. A store has its last changes in its write-ahead log
// and never in such a journal, so none is copied. REQUIRES: its lock is held.
absl::Status RefuseNewer(const OpenFolder& state, const std::string& path,
                         const std::string& backup) {
  if (!state.Has("muster.db")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StagingFolder staging, StagingFolder::Make(fs::path(path).parent_path()));
  const std::string copy = staging.path() + "/muster.db";
  RETURN_IF_ERROR(state.CopyOut("muster.db", copy));
  if (state.Has("muster.db-wal")) RETURN_IF_ERROR(state.CopyOut("muster.db-wal", copy + "-wal"));
  std::vector<EventRecord> last;
  uint64_t count = 0;
  {
    const absl::StatusOr<std::unique_ptr<Store>> store = OpenStore(copy);
    // A musterd of a newer version is a reason to refuse; damage is a reason to restore.
    if (absl::IsDataLoss(store.status())) return absl::OkStatus();
    RETURN_IF_ERROR(Annotate(store.status(), absl::StrCat("a copy of ", path)));
    RETURN_IF_ERROR((*store)->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(count, txn.events().Count());
      ASSIGN_OR_RETURN(last, txn.events().List(1, 0));
      return absl::OkStatus();
    }));
  }
  if (last.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> restored, OpenStore(backup));
  uint64_t backup_count = 0;
  std::vector<EventRecord> same;
  RETURN_IF_ERROR(restored->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(backup_count, txn.events().Count());
    ASSIGN_OR_RETURN(same, txn.events().List(1, last[0].sequence + 1));
    return absl::OkStatus();
  }));
  if (count > backup_count)
    return NewerStore(path, absl::StrCat("has ", count - backup_count,
                                         " entries of its audit log that the backup lacks"));
  if (same.empty() || same[0].hash != last[0].hash)
    return NewerStore(path, "is not an earlier state of the store in the backup");
  return absl::OkStatus();
}

// What was left of a run for its reboots: its holds, and images that a later boot would write.
absl::Status EndReboots(Transaction& txn, const std::string& run_id, absl::Time now) {
  RETURN_IF_ERROR(RebootPermits::FreeAll(txn, run_id));
  ASSIGN_OR_RETURN(const std::vector<RebootRecord> open, txn.reboots().ListOpen(run_id));
  for (RebootRecord reboot : open) {
    RETURN_IF_ERROR(txn.boots().RemoveOrder(reboot.node, reboot.permit_id));
    reboot.ended_at = now;
    RETURN_IF_ERROR(txn.reboots().Put(reboot));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> EndValidations(Store& store, absl::Time now) {
  std::vector<ValidationRecord> running;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(running, txn.validations().ListRunning());
    return absl::OkStatus();
  }));
  for (ValidationRecord validation : running) {
    validation.message = "was running when the restored backup was made";
    RETURN_IF_ERROR(validation::FinishStored(store, nullptr, std::move(validation), now));
  }
  return running.size();
}

// Takes back people's orders to boot an image: a node that has carried one out since would do so
// again, and have its disk written once more. An order to boot the disk changes nothing, and may
// keep the inventory's image from it.
absl::StatusOr<uint64_t> TakeBackBootOrders(Transaction& txn, absl::Time now) {
  std::map<std::string, std::vector<std::string>> taken_back;  // nodes by choice
  ASSIGN_OR_RETURN(const std::vector<BootOrderRecord> orders, txn.boots().ListOrders());
  uint64_t count = 0;
  for (const BootOrderRecord& order : orders) {
    if (order.choice == kBootDisk) continue;
    RETURN_IF_ERROR(txn.boots().RemoveOrder(order.node, order.order_id));
    taken_back[order.choice].push_back(order.node);
    ++count;
  }
  for (const auto& [choice, nodes] : taken_back) {
    RETURN_IF_ERROR(Audit(txn, now, ControllerActor(), "boot.clear", FoldHostlist(nodes),
                          absl::StrCat(choice, " was ordered when the restored backup was made")));
  }
  return count;
}

// Runs, validations and rollouts that were in progress must not continue: what they wanted is as
// old as the backup. The same holds for catch-up runs of nodes and for orders of what they boot.
// The store is not in its place yet: after an error nothing is restored.
absl::Status EndWork(const std::string& store_path, absl::Time now, BackupSummary& summary) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(store_path));
  ASSIGN_OR_RETURN(summary.halted_rollouts,
                   rollout::HaltOpen(*store, "when the restored backup was made", now));
  ASSIGN_OR_RETURN(summary.ended_validations, EndValidations(*store, now));
  return store->Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().ListRunning());
    for (RunRecord run : runs) {
      run.state = RunRecord::kCancelled;
      run.finished_at = now;
      run.message = "was running when the restored backup was made";
      RETURN_IF_ERROR(txn.runs().Put(run));
      RETURN_IF_ERROR(EndReboots(txn, run.run_id, now));
    }
    summary.ended_runs = runs.size();
    ASSIGN_OR_RETURN(const auto waiting, txn.run_validations().ListWaiting());
    for (RunValidationRecord row : waiting) {
      row.state = RunValidationRecord::kNotStarted;
      row.message = "was due when the restored backup was made";
      RETURN_IF_ERROR(txn.run_validations().Put(row));
    }
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (NodeRecord node : nodes) {
      // Neither is caught up with a run of that time.
      if (node.last_run_result != kRunMissed && node.last_run_result != kRunLost) continue;
      node.last_run_result.clear();
      RETURN_IF_ERROR(txn.nodes().Put(node));
    }
    ASSIGN_OR_RETURN(summary.removed_boot_orders, TakeBackBootOrders(txn, now));
    RETURN_IF_ERROR(txn.restores().Begin(now));
    return Audit(txn, now, ControllerActor(), "backup.restore", summary.cluster,
                 absl::StrCat("from a backup of ", summary.created_at, ", ",
                              Counted(summary.ended_runs, "run"), " and ",
                              Counted(summary.ended_validations, "validation"), " ended, ",
                              Counted(summary.halted_rollouts, "rollout"), " halted"));
  });
}

// Puts files into their places, keeps the former ones aside, and gives the new ones to musterd's
// account. That account owns some of the places: what is in them is reached only through open
// folders.
class Placement {
 public:
  explicit Placement(std::string suffix) : suffix_(std::move(suffix)) {
    if (geteuid() != 0) return;
    if (const passwd* account = getpwnam(kServiceUser)) owner_ = {account->pw_uid, account->pw_gid};
  }

  // Made if it is missing: owned by musterd or by root.
  absl::StatusOr<OpenFolder> FolderAt(const fs::path& path, bool is_service) {
    if (fs::exists(path)) return OpenFolder::At(path.string());
    std::error_code later;  // if it cannot be made, the next call fails and says so
    fs::create_directories(path.parent_path(), later);
    RETURN_IF_ERROR(disk_.MakeDirectory(path.string(), 0700));
    ASSIGN_OR_RETURN(OpenFolder folder, OpenFolder::At(path.string()));
    if (is_service) RETURN_IF_ERROR(folder.Own(owner_));
    return folder;
  }

  // Into `folder`/before-restore-TIME.
  absl::Status MoveAside(const OpenFolder& folder, const std::string& name) {
    if (!folder.Has(name)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const OpenFolder aside, folder.Inner(suffix_));
    RETURN_IF_ERROR(aside.Own(owner_));
    return folder.MoveInto(aside, name);
  }
  const std::string& suffix() const { return suffix_; }

  absl::Status Write(const BackupPart& part, const std::string& content) {
    const fs::path path = part.path;
    const std::string name = path.filename().string();
    ASSIGN_OR_RETURN(const OpenFolder folder, FolderAt(path.parent_path(), part.is_service));
    if (!part.is_service && folder.Has(name)) return absl::OkStatus();
    if (part.is_service) RETURN_IF_ERROR(MoveAside(folder, name));
    return folder.PutText(name, content, part.is_key ? 0600 : 0644,
                          part.is_service ? owner_ : std::nullopt);
  }

  // Under another name: musterd does not start before FinishStore().
  absl::Status PutStore(const OpenFolder& folder, const std::string& source) {
    return folder.PutFile(absl::StrCat(kStore, kRestoreSuffix), source, 0600, owner_);
  }
  absl::Status FinishStore(const OpenFolder& folder) {
    return folder.Rename(absl::StrCat(kStore, kRestoreSuffix), kStore);
  }

  // Blobs lie in folders named after the first two digits of their digest. Each leaves `source`
  // when it is in place, so that the disk does not have to hold them all twice. `count`: those of
  // the backup; DataLoss: `source` has fewer.
  absl::Status PutBlobs(const OpenFolder& folder, const fs::path& source, uint64_t count) {
    ASSIGN_OR_RETURN(const OpenFolder blobs, folder.Inner("blobs"));
    RETURN_IF_ERROR(blobs.Own(owner_));
    std::vector<fs::path> paths;
    std::error_code missing;  // there is no folder where the backup has no blobs
    for (const auto& entry : fs::directory_iterator(source, missing)) paths.push_back(entry.path());
    if (paths.size() < count)
      return absl::DataLossError(
          absl::StrCat(source.string(), " has ", paths.size(), " of the backup's ", count,
                       " blobs: something has removed the others; restore once more"));
    for (const fs::path& path : paths) {
      const std::string name = path.filename().string();
      if (!IsSha256(name))
        return absl::DataLossError(absl::StrCat("blobs/", name, " is not a blob"));
      ASSIGN_OR_RETURN(const OpenFolder place, blobs.Inner(name.substr(0, 2)));
      RETURN_IF_ERROR(place.Own(owner_));
      RETURN_IF_ERROR(place.PutFile(name.substr(2), path.string(), 0600, owner_));
      fs::remove(path);
    }
    return absl::OkStatus();
  }

  absl::Status OwnLock(const OpenFolder& folder, const std::string& name) {
    return folder.OwnFile(name, owner_);
  }

 private:
  const std::string suffix_;
  std::optional<OpenFolder::Owner> owner_;
  sys::RealFileSystem disk_;
};

// For a backup without keys, the machine must already have them, and they must fit.
absl::Status CheckKeysOnMachine(const Config& config, const std::string& config_path,
                                const std::string& staging, const BackupSummary& summary) {
  sys::RealFileSystem disk;
  ASSIGN_OR_RETURN(const std::string ca, disk.Read(staging + "/pki/ca.crt"));
  for (const BackupPart& part : BackupParts(config, config_path)) {
    const bool needed = part.is_required || (part.name == "secret_key" && summary.secrets > 0);
    if (!part.is_key || !needed) continue;
    ASSIGN_OR_RETURN(const auto stat, disk.Stat(part.path));
    if (stat.has_value()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the backup was made --without-keys and there is no ", part.path,
                     ": first put the keys that you keep elsewhere into their places"));
  }
  ASSIGN_OR_RETURN(const std::string here, disk.Read(config.pki_directory + "/ca.crt"));
  if (here != ca)
    return absl::FailedPreconditionError(absl::StrCat(
        config.pki_directory,
        "/ca.crt is a different authority than the backup's, and the backup contains no keys"));
  if (summary.secrets == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string key, disk.Read(config.state_directory + "/secret_key"));
  return CheckSecretsOpen(staging + "/store.db", key).status();
}

absl::StatusOr<Config> ConfigOf(const std::string& config_path, const std::string& staging) {
  if (fs::exists(config_path)) return LoadConfig(config_path);
  return LoadConfig(staging + "/controller.yaml");
}

}  // namespace

absl::StatusOr<BackupSummary> RestoreBackup(const std::string& path, const BackupOptions& options,
                                            Clock& clock) {
  // Without the settings we do not know yet where the state belongs: use the backup's own folder,
  // which has room.
  const fs::path parent = fs::absolute(path).parent_path();
  std::string room = parent.string();
  if (fs::exists(options.config_path)) {
    ASSIGN_OR_RETURN(const Config config, LoadConfig(options.config_path));
    room = config.state_directory;
  }
  ASSIGN_OR_RETURN(StagingFolder staging, StagingFolder::Make(room));
  ASSIGN_OR_RETURN(BackupContents contents, UnpackBackup(path, staging.path(), options));
  BackupSummary& summary = contents.summary;
  if (summary.has_keys && !summary.keys_opened)
    return absl::FailedPreconditionError(absl::StrCat(
        "the keys in ", path, " are protected by a passphrase: pass --passphrase-file"));
  ASSIGN_OR_RETURN(const Config config, ConfigOf(options.config_path, staging.path()));
  const absl::Time now = clock.Now();
  Placement place(absl::StrCat("before-restore-",
                               absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone())));
  ASSIGN_OR_RETURN(const OpenFolder state,
                   place.FolderAt(config.state_directory, /*is_service=*/true));
  if (!summary.has_keys)
    RETURN_IF_ERROR(CheckKeysOnMachine(config, options.config_path, staging.path(), summary));

  const std::string store_path = config.state_directory + "/muster.db";
  const std::string staged_store = staging.path() + "/store.db";
  // From here on no other musterd can start.
  ASSIGN_OR_RETURN(const std::unique_ptr<LockFile> lock, LockFile::Acquire(store_path + ".lock"));
  RETURN_IF_ERROR(place.OwnLock(state, "muster.db.lock"));
  if (!options.force) RETURN_IF_ERROR(RefuseNewer(state, store_path, staged_store));
  RETURN_IF_ERROR(EndWork(staged_store, now, summary));

  // Nothing is to vanish from under what is put into its place now.
  staging.KeepAtSignal();
  // The store comes first and gets its name last: in between nothing can start by mistake, also
  // after a power cut.
  RETURN_IF_ERROR(place.PutStore(state, staged_store));
  for (const char* name :
       {"muster.db", "muster.db-wal", "muster.db-shm", "muster.db-journal", "blobs"})
    RETURN_IF_ERROR(place.MoveAside(state, name));
  if (state.Has(place.suffix()))
    summary.old_state = absl::StrCat(config.state_directory, "/", place.suffix());
  sys::RealFileSystem disk;
  std::vector<BackupPart> parts = BackupParts(config, options.config_path);
  for (const BackupPart& part : parts) {
    std::string content;
    if (part.is_key) {
      const auto key = contents.keys.find(part.name);
      if (key == contents.keys.end()) continue;
      content = key->second;
    } else {
      if (contents.manifest.entries.count(part.name) == 0) continue;
      ASSIGN_OR_RETURN(content, disk.Read(absl::StrCat(staging.path(), "/", part.name)));
    }
    RETURN_IF_ERROR(place.Write(part, content));
  }
  if (!fs::exists(options.config_path)) {
    ASSIGN_OR_RETURN(const std::string yaml, disk.Read(staging.path() + "/controller.yaml"));
    BackupPart settings{"controller.yaml", options.config_path};
    settings.is_service = false;
    RETURN_IF_ERROR(place.Write(settings, yaml));
    ASSIGN_OR_RETURN(const OpenFolder folder,
                     place.FolderAt(fs::path(options.config_path).parent_path(), false));
    RETURN_IF_ERROR(folder.SetMode(0755));
  }
  RETURN_IF_ERROR(place.PutBlobs(state, staging.path() + "/blobs", summary.blobs));
  RETURN_IF_ERROR(place.FinishStore(state));
  // What there is now is as old as the backup.
  absl::Time made_at;
  if (absl::ParseTime(absl::RFC3339_sec, summary.created_at, &made_at, nullptr))
    RETURN_IF_ERROR(RecordBackup(config.state_directory, path, made_at));
  return summary;
}

}  // namespace muster::controller
