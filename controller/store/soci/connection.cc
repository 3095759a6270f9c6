#include "controller/store/soci/connection.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/transaction.h"

namespace muster::controller {
namespace {

// For tools that read the file while musterd is running; musterd itself is alone.
constexpr int kBusyTimeoutMs = 5'000;
// FULL, not NORMAL: what was reported to an agent as stored survives even a power cut.
constexpr char kWriterSettings[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
constexpr char kReaderSettings[] = "PRAGMA query_only = ON;";

sqlite_api::sqlite3* ConnectionOf(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

}  // namespace

absl::Status SociConnection::Open(Use use) {
  constexpr char kWhat[] = "opening the store";
  const bool writes = use == Use::kReadAndWrite;
  RETURN_IF_ERROR(Guard(path_, kWhat, [&]() -> absl::Status {
    session_.open(*soci::factory_sqlite3(), absl::StrCat("dbname=\"", path_, "\""));
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(Execute(
      absl::StrCat("PRAGMA busy_timeout = ", kBusyTimeoutMs, "; PRAGMA trusted_schema = OFF; ",
                   writes ? kWriterSettings : kReaderSettings),
      kWhat));
  if (writes) sqlite_api::sqlite3_wal_hook(ConnectionOf(session_), OnCommit, this);
  return absl::OkStatus();
}

absl::Status SociConnection::Run(const char* begin,
                                 absl::FunctionRef<absl::Status(Transaction&)> fn,
                                 const char* end) {
  RETURN_IF_ERROR(Execute(begin));
  absl::Status status;
  {
    SociTransaction transaction({session_, path_, statements_});
    status = fn(transaction);
  }
  if (status.ok()) status = Execute(end);
  // SQLite ends a transaction by itself when the disk is full; then there is nothing to roll back.
  if (!status.ok()) Execute("ROLLBACK").IgnoreError();
  return status;
}

// SOCI prepares single statements; scripts and BEGIN/COMMIT go to SQLite itself.
absl::Status SociConnection::Execute(const std::string& sql, absl::string_view what) {
  return Guard(path_, what, [&]() -> absl::Status {
    char* message = nullptr;
    const int result =
        sqlite_api::sqlite3_exec(ConnectionOf(session_), sql.c_str(), nullptr, nullptr, &message);
    if (result == SQLITE_OK) return absl::OkStatus();
    const std::string text = message != nullptr ? message : sqlite_api::sqlite3_errstr(result);
    sqlite_api::sqlite3_free(message);
    throw soci::sqlite3_soci_error(text, result);
  });
}

// Replaces SQLite's own hook, which never waits for readers. A failure here is tried again after
// the next commit; the commit itself is done.
int SociConnection::OnCommit(void* self, sqlite_api::sqlite3* connection, const char* database,
                             int pages) {
  auto& own = *static_cast<SociConnection*>(self);
  if (pages < kMaxLogPages) own.restart_at_pages_ = kMaxLogPages;
  if (pages < kLogPages) return SQLITE_OK;
  if (pages < own.restart_at_pages_) {
    sqlite_api::sqlite3_wal_checkpoint_v2(connection, database, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                                          nullptr);
    return SQLITE_OK;
  }
  own.restart_at_pages_ = pages + kMaxLogPages / 4;
  sqlite_api::sqlite3_busy_timeout(connection, kReadersTimeoutMs);
  sqlite_api::sqlite3_wal_checkpoint_v2(connection, database, SQLITE_CHECKPOINT_RESTART, nullptr,
                                        nullptr);
  sqlite_api::sqlite3_busy_timeout(connection, kBusyTimeoutMs);
  return SQLITE_OK;
}

}  // namespace muster::controller
