#include "controller/store/soci_store.h"

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
#include "controller/store/soci_guard.h"
#include "controller/store/soci_headers.h"
#include "controller/store/soci_statements.h"
#include "controller/store/soci_transaction.h"
#include "controller/store/soci_types.h"
#include "controller/store/store_files.h"

namespace muster::controller {
namespace {

constexpr char kInMemory[] = ":memory:";
// For tools that read the file while musterd runs; musterd itself is alone.
constexpr int kBusyTimeoutMs = 5000;

// SOCI prepares single statements; scripts and BEGIN/COMMIT go to SQLite itself. Throws as SOCI.
void Execute(soci::session& session, const std::string& sql) {
  auto* backend = static_cast<soci::sqlite3_session_backend*>(session.get_backend());
  char* message = nullptr;
  const int result =
      sqlite_api::sqlite3_exec(backend->conn_, sql.c_str(), nullptr, nullptr, &message);
  if (result == SQLITE_OK) return;
  const std::string text = message != nullptr ? message : sqlite_api::sqlite3_errstr(result);
  sqlite_api::sqlite3_free(message);
  throw soci::sqlite3_soci_error(text, result);
}

class SociStore final : public Store {
 public:
  explicit SociStore(std::string path) : path_(std::move(path)), files_(path_) {}

  // Call once, before anything else.
  absl::Status Open();

  absl::Status View(absl::FunctionRef<absl::Status(Transaction&)> fn) override {
    absl::MutexLock lock(&mutex_);
    return Run("BEGIN", fn, "ROLLBACK");
  }
  absl::Status Update(absl::FunctionRef<absl::Status(Transaction&)> fn) override {
    absl::MutexLock lock(&mutex_);
    return Run("BEGIN IMMEDIATE", fn, "COMMIT");
  }
  uint64_t SizeBytes() override;

 private:
  absl::Status Configure() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckIntegrity() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Migrate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Errors: somebody moved the files away or cut them off.
  absl::Status CheckFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Run(const char* begin, absl::FunctionRef<absl::Status(Transaction&)> fn,
                   const char* end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TryExecute(const std::string& sql) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Guard(path_, sql, [&]() -> absl::Status {
      mutex_.AssertHeld();
      Execute(session_, sql);
      return absl::OkStatus();
    });
  }

  const std::string path_;
  std::unique_ptr<LockFile> lock_file_;
  absl::Mutex mutex_;
  StoreFiles files_ ABSL_GUARDED_BY(mutex_);
  soci::session session_ ABSL_GUARDED_BY(mutex_);
  SociStatements statements_ ABSL_GUARDED_BY(mutex_);  // of the session: destroyed before it
};

// Creates the file with the right mode before SQLite would with another.
absl::Status CreateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening the store ", path));
  close(fd);
  return absl::OkStatus();
}

absl::Status SociStore::Open() {
  absl::MutexLock lock(&mutex_);
  if (path_ != kInMemory) {
    ASSIGN_OR_RETURN(lock_file_, LockFile::Acquire(path_ + ".lock"));
    RETURN_IF_ERROR(CreateFile(path_));
  }
  RETURN_IF_ERROR(Configure());
  RETURN_IF_ERROR(CheckIntegrity());
  RETURN_IF_ERROR(Migrate());
  if (path_ != kInMemory) files_.Remember();
  return absl::OkStatus();
}

absl::Status SociStore::Configure() {
  return Guard(path_, "opening the store", [&]() -> absl::Status {
    mutex_.AssertHeld();
    session_.open(*soci::factory_sqlite3(), absl::StrCat("dbname=\"", path_, "\""));
    // FULL, not NORMAL: what an agent was told is stored survives a power cut too.
    Execute(session_, absl::StrCat("PRAGMA busy_timeout = ", kBusyTimeoutMs,
                                   "; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                   " PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"));
    return absl::OkStatus();
  });
}

absl::Status SociStore::CheckIntegrity() {
  return Guard(path_, "checking the store", [&]() -> absl::Status {
    mutex_.AssertHeld();
    std::string line;
    soci::statement statement = (session_.prepare << "PRAGMA quick_check(5)", soci::into(line));
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
  return Guard(path_, "bringing the store up to date", [&]() -> absl::Status {
    mutex_.AssertHeld();
    Execute(session_,
            "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, "
            "name TEXT NOT NULL) STRICT");
    int version = 0;
    session_ << "SELECT COALESCE(MAX(version), 0) FROM migrations", soci::into(version);
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
      Execute(session_, "BEGIN IMMEDIATE");
      try {
        Execute(session_, migration.sql);
        const std::string name = migration.name;
        session_ << "INSERT INTO migrations (version, name) VALUES (:version, :name)",
            soci::use(migration.version), soci::use(name);
        Execute(session_, "COMMIT");
      } catch (...) {
        const absl::Status status = StatusOfCurrentException(
            path_, absl::StrCat("bringing the store to schema ", migration.version));
        TryExecute("ROLLBACK").IgnoreError();
        return status;
      }
    }
    return absl::OkStatus();
  });
}

absl::Status SociStore::CheckFiles() {
  ASSIGN_OR_RETURN(const bool have_shrunk, files_.HaveShrunk());
  if (!have_shrunk) return absl::OkStatus();
  // All that is stored can still be read and stands in the file: a tool has compacted it.
  const absl::Status checkpointed = TryExecute("PRAGMA wal_checkpoint(PASSIVE)");
  if (checkpointed.ok() && IsWhole(session_)) {
    files_.Remember();
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "the store ", path_, " was cut off while musterd has it open; nothing is stored ",
      "any more. Stop musterd and run `muster backup restore FILE`"));
}

absl::Status SociStore::Run(const char* begin, absl::FunctionRef<absl::Status(Transaction&)> fn,
                            const char* end) {
  RETURN_IF_ERROR(CheckFiles());
  RETURN_IF_ERROR(TryExecute(begin));
  absl::Status status;
  {
    SociTransaction transaction({session_, path_, statements_});
    status = fn(transaction);
  }
  if (status.ok()) status = TryExecute(end);
  // SQLite ends a transaction by itself when the disk is full; then there is nothing to undo.
  if (!status.ok()) TryExecute("ROLLBACK").IgnoreError();
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

absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& path) {
  auto store = std::make_unique<SociStore>(path);
  RETURN_IF_ERROR(store->Open());
  return store;
}

}  // namespace muster::controller
