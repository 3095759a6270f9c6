// One connection to the store's file.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "controller/store/soci/headers.h"
#include "controller/store/soci/statements.h"
#include "controller/store/store.h"

namespace muster::controller {

// A session of SQLite with its prepared statements. Not thread-safe.
class SociConnection {
 public:
  enum class Use { kReadAndWrite, kReadOnly };

  // SQLite moves its log into the file when, after a commit, it has this many pages (4 kB each) …
  static constexpr int kLogPages = 1'000;
  // … but restarts it only when nobody reads from it. Overlapping readers would let it grow
  // forever, so from this size on (64 MiB) a commit waits for the present readers, not longer than
  // kReadersTimeout, and again whenever the log has grown by a quarter of that.
  static constexpr int kMaxLogPages = 16'384;
  static constexpr int kReadersTimeoutMs = 250;

  // `path` is also used in messages, and must outlive the object.
  explicit SociConnection(const std::string& path) : path_(path) {}
  SociConnection(const SociConnection&) = delete;
  SociConnection& operator=(const SociConnection&) = delete;

  // Call once, before anything else. kReadAndWrite also applies the writer's settings to the file.
  absl::Status Open(Use use);
  // Runs `fn` in one transaction, from `begin` to `end`; rolled back when one of them fails.
  absl::Status Run(const char* begin, absl::FunctionRef<absl::Status(Transaction&)> fn,
                   const char* end);
  // Executes one or several statements without values; `what` is for the message.
  absl::Status Execute(const std::string& sql, absl::string_view what);
  absl::Status Execute(const std::string& sql) { return Execute(sql, sql); }
  soci::session& session() { return session_; }

 private:
  static int OnCommit(void* self, sqlite_api::sqlite3* connection, const char* database, int pages);

  const std::string& path_;
  int restart_at_pages_ = kMaxLogPages;
  soci::session session_;
  SociStatements statements_;  // belong to the session: destroyed before it
};

}  // namespace muster::controller
