#include "controller/store/soci/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "common/base/status.h"
#include "controller/store/lock_file.h"
#include "controller/store/migrations.h"
#include "controller/store/soci/connection.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/headers.h"
#include "controller/store/soci/readers.h"
#include "controller/store/soci/types.h"
#include "controller/store/store_files.h"

namespace muster::controller {
namespace {

constexpr char kInMemory[] = ":memory:";

// A rotating disk seeks a hundred times a second. In a store whose rows have come and gone for
// years, each seek finds ten pages of 4 KiB that follow one another.
constexpr double kSlowBytesPerSecond = 100.0 * 10 * 4096;

// A connection is used by one thread at a time, and nobody asks how much memory SQLite has: its
// locks for both would take some 7 % of the time in which results of steps are stored. Settings of
// the process, before its first connection; where another library was earlier, SQLite stays as it
// was.
void SwitchLocksOff() {
  static const bool done = [] {
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    return true;
  }();
  static_cast<void>(done);
}

// Writers use the only writing connection, one after another. Readers use the readers' connections,
// so that neither a writer nor another reader makes anybody wait.
class SociStore final : public Store {
 public:
  explicit SociStore(std::string path) : path_(std::move(path)) {}

  // Call once, before anything else.
  absl::Status Open();

  absl::Status View(absl::FunctionRef<absl::Status(Transaction&)> fn) override {
    RETURN_IF_ERROR(CheckFiles());
    // An in-memory store belongs to one connection.
    if (!is_file_) return Write("BEGIN", fn, "ROLLBACK");
    return readers_.View(fn);
  }
  absl::Status Update(absl::FunctionRef<absl::Status(Transaction&)> fn) override {
    RETURN_IF_ERROR(CheckFiles());
    return Write("BEGIN IMMEDIATE", fn, "COMMIT");
  }
  uint64_t SizeBytes() override;

 private:
  absl::Status CheckIntegrity() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Migrate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Errors: somebody has moved or truncated the files.
  absl::Status CheckFiles() ABSL_LOCKS_EXCLUDED(mutex_, files_mutex_);
  absl::StatusOr<bool> HaveShrunk() ABSL_LOCKS_EXCLUDED(files_mutex_) {
    absl::MutexLock lock(&files_mutex_);
    return files_.HaveShrunk();
  }
  absl::Status Write(const char* begin, absl::FunctionRef<absl::Status(Transaction&)> fn,
                     const char* end) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string path_;
  const bool is_file_ = path_ != kInMemory;
  std::unique_ptr<LockFile> lock_file_;
  absl::Mutex mutex_;
  SociConnection writer_ ABSL_GUARDED_BY(mutex_){path_};
  absl::Mutex files_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  StoreFiles files_ ABSL_GUARDED_BY(files_mutex_){path_};
  // Closed before the writer, which then moves the log into the file.
  SociReaders readers_;
};

// Creates the file with the right mode before SQLite would create it with another.
absl::Status CreateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 && errno == ELOOP) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store ", path,
                     " is a symbolic link: put the file itself there, with its -wal, or make "
                     "state_directory the folder that holds it"));
  }
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening the store ", path));
  close(fd);
  return absl::OkStatus();
}

// An empty store in place of the one that was to be restored would turn every node away.
absl::Status CheckRestored(const std::string& path) {
  struct stat info;
  if (lstat(absl::StrCat(path, kRestoreSuffix).c_str(), &info) != 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("a restore was interrupted: ", path, kRestoreSuffix,
                   " is left of it; run `muster backup restore FILE` again; to give it up, first "
                   "move everything in before-restore-TIME back to its place, then remove ",
                   path, kRestoreSuffix));
}

// SQLite would take a log without its database for a leftover, and remove it.
absl::Status CheckDatabase(const std::string& path) {
  struct stat log;
  if (lstat(absl::StrCat(path, "-wal").c_str(), &log) != 0 || log.st_size == 0)
    return absl::OkStatus();
  struct stat database;
  const bool is_missing = lstat(path.c_str(), &database) != 0;
  if (!is_missing && database.st_size > 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the store ", path, is_missing ? " is missing" : " is empty", ", but ", path,
      "-wal has changes of it. Put the file back where it was, or run `muster backup restore "
      "FILE`; to begin with a new store, first move ",
      path, "-wal away"));
}

absl::Status SociStore::Open() {
  absl::MutexLock lock(&mutex_);
  if (is_file_) {
    ASSIGN_OR_RETURN(lock_file_, LockFile::Acquire(path_ + ".lock"));
    RETURN_IF_ERROR(CheckRestored(path_));
    RETURN_IF_ERROR(CheckDatabase(path_));
    RETURN_IF_ERROR(CreateFile(path_));
  }
  RETURN_IF_ERROR(writer_.Open(SociConnection::Use::kReadAndWrite));
  RETURN_IF_ERROR(CheckIntegrity());
  RETURN_IF_ERROR(Migrate());
  if (!is_file_) return absl::OkStatus();
  RETURN_IF_ERROR(readers_.Open(path_));
  absl::MutexLock files(&files_mutex_);
  files_.Remember();
  return absl::OkStatus();
}

absl::Status SociStore::CheckIntegrity() {
  return Guard(path_, "checking the store", [&]() -> absl::Status {
    mutex_.AssertHeld();
    std::string line;
    soci::statement statement =
        (writer_.session().prepare << "PRAGMA quick_check(5)", soci::into(line));
    const std::vector<std::string> lines = ReadAll(statement, line);
    if (lines.size() == 1 && lines[0] == "ok") return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("the store ", path_, " is damaged: ", absl::StrJoin(lines, "; "),
                     ". Stop musterd and run `muster backup restore FILE`, or save what can be "
                     "read with `sqlite3 ",
                     path_, " .recover`"));
  });
}

absl::Status SociStore::Migrate() {
  constexpr char kWhat[] = "bringing the store up to date";
  RETURN_IF_ERROR(
      writer_.Execute("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, "
                      "name TEXT NOT NULL) STRICT",
                      kWhat));
  int version = 0;
  RETURN_IF_ERROR(Guard(path_, kWhat, [&]() -> absl::Status {
    mutex_.AssertHeld();
    writer_.session() << "SELECT COALESCE(MAX(version), 0) FROM migrations", soci::into(version);
    return absl::OkStatus();
  }));
  const int newest = kMigrations[kMigrationCount - 1].version;
  if (version > newest) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the store ", path_, " has schema ", version, ", this musterd knows up to ", newest,
        ": it was written by a newer musterd; install that version again, or restore the "
        "backup from before its installation"));
  }
  for (size_t i = 0; i < kMigrationCount; ++i) {
    const Migration& migration = kMigrations[i];
    if (migration.version <= version) continue;
    const std::string what = absl::StrCat("bringing the store to schema ", migration.version);
    const auto migrate = [&](Transaction&) -> absl::Status {
      mutex_.AssertHeld();
      RETURN_IF_ERROR(writer_.Execute(migration.sql, what));
      return Guard(path_, what, [&]() -> absl::Status {
        mutex_.AssertHeld();
        const std::string name = migration.name;
        writer_.session() << "INSERT INTO migrations (version, name) VALUES (:version, :name)",
            soci::use(migration.version), soci::use(name);
        return absl::OkStatus();
      });
    };
    RETURN_IF_ERROR(writer_.Run("BEGIN IMMEDIATE", migrate, "COMMIT"));
  }
  return absl::OkStatus();
}

absl::Status SociStore::CheckFiles() {
  ASSIGN_OR_RETURN(const bool may_have_shrunk, HaveShrunk());
  if (!may_have_shrunk) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  // Another thread may have found it first.
  ASSIGN_OR_RETURN(const bool have_shrunk, HaveShrunk());
  if (!have_shrunk) return absl::OkStatus();
  // Everything stored can still be read and is in the file: a tool has compacted it.
  const absl::Status checkpointed = writer_.Execute("PRAGMA wal_checkpoint(PASSIVE)");
  if (checkpointed.ok() && IsWhole(writer_.session())) {
    absl::MutexLock files(&files_mutex_);
    files_.Remember();
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "the store ", path_, " was cut off while musterd has it open; nothing more is stored",
      ". Stop musterd and run `muster backup restore FILE`"));
}

absl::Status SociStore::Write(const char* begin, absl::FunctionRef<absl::Status(Transaction&)> fn,
                              const char* end) {
  absl::MutexLock lock(&mutex_);
  const absl::Status status = writer_.Run(begin, fn, end);
  absl::MutexLock files(&files_mutex_);
  files_.RememberGrowth();
  return status;
}

uint64_t SociStore::SizeBytes() {
  uint64_t total = 0;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat info;
    if (stat(absl::StrCat(path_, suffix).c_str(), &info) == 0) total += info.st_size;
  }
  return total;
}

}  // namespace

absl::Duration LongestCheck(uint64_t bytes) {
  return absl::Seconds(static_cast<double>(bytes) / kSlowBytesPerSecond);
}

absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& path) {
  SwitchLocksOff();
  auto store = std::make_unique<SociStore>(path);
  RETURN_IF_ERROR(store->Open());
  return store;
}

}  // namespace muster::controller
