#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "controller/backup/backup.h"
#include "controller/backup/backup_contents.h"
#include "controller/backup/backup_paths.h"
#include "controller/store/lock_file.h"
#include "controller/store/soci_store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

namespace fs = std::filesystem;

// The account that musterd runs as, made by its package.
constexpr char kServiceUser[] = "muster";

absl::Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("moving ", from.string(), " to ", to.string()));
}

absl::Status NewerStore(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the store ", path, " ", why,
                   ": restoring takes the cluster back to the time of the backup. If that is what "
                   "you want, say --force; the store is kept aside either way"));
}

// What the store at `path` has that the backup at `backup` lacks must not be lost by mistake.
absl::Status RefuseNewer(const std::string& path, const std::string& backup) {
  if (!fs::exists(path)) return absl::OkStatus();
  std::vector<EventRecord> last;
  uint64_t count = 0;
  {
    const absl::StatusOr<std::unique_ptr<Store>> store = OpenStore(path);
    // Another musterd, and one of a newer version, are refusals; damage is why one restores.
    if (absl::IsDataLoss(store.status())) return absl::OkStatus();
    RETURN_IF_ERROR(store.status());
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
    return NewerStore(path, "is not an earlier state of what is in the backup");
  return absl::OkStatus();
}

// Runs that were going on must not go on: what they wanted is as old as the backup. The same holds
// for nodes that would be caught up with.
absl::StatusOr<uint64_t> EndRuns(const std::string& store_path, const BackupSummary& summary,
                                 absl::Time now) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(store_path));
  uint64_t ended = 0;
  RETURN_IF_ERROR(store->Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().ListRunning());
    for (RunRecord run : runs) {
      run.state = RunRecord::kCancelled;
      run.finished_at = now;
      run.message = "was going on when the backup was made that has been restored";
      RETURN_IF_ERROR(txn.runs().Put(run));
      ++ended;
    }
    ASSIGN_OR_RETURN(const auto waiting, txn.run_validations().ListWaiting());
    for (RunValidationRecord row : waiting) {
      row.state = RunValidationRecord::kNotStarted;
      row.message = "was due when the backup was made that has been restored";
      RETURN_IF_ERROR(txn.run_validations().Put(row));
    }
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (NodeRecord node : nodes) {
      if (node.last_run_result != "unreachable") continue;
      node.last_run_result.clear();
      RETURN_IF_ERROR(txn.nodes().Put(node));
    }
    EventRecord event;
    event.time = now;
    event.actor = "controller";
    event.action = "backup.restore";
    event.subject = summary.cluster;
    event.detail =
        absl::StrCat("from a backup of ", summary.created_at, ", ", ended, " runs ended");
    return txn.events().Append(std::move(event));
  }));
  return ended;
}

// Puts files into their places, keeping aside what was there, and gives them to musterd's account.
class Placement {
 public:
  explicit Placement(std::string suffix) : suffix_(std::move(suffix)) {
    if (geteuid() != 0) return;
    if (const passwd* account = getpwnam(kServiceUser)) owner_ = {account->pw_uid, account->pw_gid};
  }

  // `folder`/before-restore-TIME
  fs::path AsideOf(const fs::path& folder) const { return folder / suffix_; }

  absl::Status MakeFolder(const std::string& path) {
    RETURN_IF_ERROR(disk_.MakeDirectory(path, 0700));
    return Own(path);
  }

  absl::Status MoveAside(const fs::path& path) {
    if (!fs::exists(fs::symlink_status(path))) return absl::OkStatus();
    const fs::path aside = AsideOf(path.parent_path());
    if (!fs::exists(aside)) RETURN_IF_ERROR(MakeFolder(aside.string()));
    return Move(path, aside / path.filename());
  }

  absl::Status Write(const BackupPart& part, const std::string& content) {
    if (!part.is_service && fs::exists(part.path)) return absl::OkStatus();
    const fs::path folder = fs::path(part.path).parent_path();
    if (!fs::exists(folder)) {
      RETURN_IF_ERROR(disk_.MakeDirectory(folder.string(), 0700));
      if (part.is_service) RETURN_IF_ERROR(Own(folder.string()));
    }
    if (part.is_service) RETURN_IF_ERROR(MoveAside(part.path));
    sys::WriteOptions options;
    options.mode = part.is_key ? 0600 : 0644;
    RETURN_IF_ERROR(disk_.WriteAtomically(part.path, content, options));
    return part.is_service ? Own(part.path) : absl::OkStatus();
  }

  absl::Status Own(const std::string& path) {
    if (!owner_.has_value() || lchown(path.c_str(), owner_->first, owner_->second) == 0)
      return absl::OkStatus();
    return ErrnoStatus(errno, absl::StrCat("giving ", path, " to ", kServiceUser));
  }

  absl::Status OwnAll(const fs::path& folder) {
    RETURN_IF_ERROR(Own(folder.string()));
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error))
      RETURN_IF_ERROR(Own(entry.path().string()));
    return absl::OkStatus();
  }

 private:
  const std::string suffix_;
  std::optional<std::pair<uid_t, gid_t>> owner_;
  sys::RealFileSystem disk_;
};

// The keys of a backup without any must be there already, and fit.
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
                     ": put the keys that you keep elsewhere into their places first"));
  }
  ASSIGN_OR_RETURN(const std::string here, disk.Read(config.pki_directory + "/ca.crt"));
  if (here != ca)
    return absl::FailedPreconditionError(
        absl::StrCat(config.pki_directory,
                     "/ca.crt is another authority than the backup's, which "
                     "holds no keys of its own"));
  if (summary.secrets == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string key, disk.Read(config.state_directory + "/secret_key"));
  return CheckSecretsOpen(staging + "/store.db", key).status();
}

// Blobs lie under the first two digits of their digest.
absl::Status ArrangeBlobs(const fs::path& staging) {
  const fs::path flat = staging / "blobs";
  const fs::path arranged = staging / "arranged";
  fs::create_directories(arranged);
  if (!fs::exists(flat)) return absl::OkStatus();
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(flat)) names.push_back(entry.path());
  for (const fs::path& path : names) {
    const std::string name = path.filename().string();
    RETURN_IF_ERROR(Move(path, arranged / name.substr(0, 2) / name.substr(2)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Config> ConfigOf(const std::string& config_path, const std::string& staging) {
  if (fs::exists(config_path)) return LoadConfig(config_path);
  return LoadConfig(staging + "/controller.yaml");
}

}  // namespace

absl::StatusOr<BackupSummary> RestoreBackup(const std::string& path, const BackupOptions& options,
                                            Clock& clock) {
  // Without the settings we do not know yet where the state belongs: where the backup lies is room.
  const fs::path parent = fs::absolute(path).parent_path();
  std::string staging_parent = parent.string();
  if (fs::exists(options.config_path)) {
    ASSIGN_OR_RETURN(const Config config, LoadConfig(options.config_path));
    fs::create_directories(config.state_directory);
    staging_parent = config.state_directory;
  }
  ASSIGN_OR_RETURN(const StagingFolder staging, StagingFolder::Make(staging_parent));
  ASSIGN_OR_RETURN(BackupContents contents, UnpackBackup(path, staging.path(), options));
  BackupSummary& summary = contents.summary;
  if (summary.has_keys && !summary.keys_opened)
    return absl::FailedPreconditionError(
        absl::StrCat("the keys in ", path, " are under a passphrase: give it"));
  ASSIGN_OR_RETURN(const Config config, ConfigOf(options.config_path, staging.path()));
  const absl::Time now = clock.Now();
  Placement place(absl::StrCat("before-restore-",
                               absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone())));
  if (!fs::exists(config.state_directory))
    RETURN_IF_ERROR(place.MakeFolder(config.state_directory));
  if (!summary.has_keys)
    RETURN_IF_ERROR(CheckKeysOnMachine(config, options.config_path, staging.path(), summary));

  const std::string store_path = config.state_directory + "/muster.db";
  const std::string staged_store = staging.path() + "/store.db";
  if (!options.force) RETURN_IF_ERROR(RefuseNewer(store_path, staged_store));
  // From here on no musterd can start.
  ASSIGN_OR_RETURN(const std::unique_ptr<LockFile> lock, LockFile::Acquire(store_path + ".lock"));
  RETURN_IF_ERROR(place.Own(store_path + ".lock"));
  ASSIGN_OR_RETURN(summary.ended_runs, EndRuns(staged_store, summary, now));
  RETURN_IF_ERROR(ArrangeBlobs(staging.path()));

  // The store goes last: before it is there nothing starts by mistake.
  for (const char* name : {"/muster.db", "/muster.db-wal", "/muster.db-shm", "/blobs"})
    RETURN_IF_ERROR(place.MoveAside(config.state_directory + name));
  const fs::path aside = place.AsideOf(config.state_directory);
  if (fs::exists(aside)) summary.old_state = aside.string();
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
    chmod(fs::path(options.config_path).parent_path().c_str(), 0755);
  }
  RETURN_IF_ERROR(place.OwnAll(staging.path() + "/arranged"));
  chmod((staging.path() + "/arranged").c_str(), 0700);
  RETURN_IF_ERROR(Move(staging.path() + "/arranged", config.state_directory + "/blobs"));
  RETURN_IF_ERROR(place.Own(staged_store));
  RETURN_IF_ERROR(Move(staged_store, store_path));
  return summary;
}

}  // namespace muster::controller
