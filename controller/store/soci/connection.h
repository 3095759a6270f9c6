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

// A session of SQLite's with the statements that it has prepared. Not thread-safe.
class SociConnection {
 public:
  enum class Use { kReadAndWrite, kReadOnly };

  // SQLite moves its log into the file when it has so many pages (4 kB each) after a commit …
  static constexpr int kLogPages = 1'000;
  // … but starts it over only when nobody reads from it. Readers who overlap would let it grow for
  // good, so from this size on (64 MiB) a commit waits for those who read now, not longer than
  // kReadersTimeout, and again whenever the log has grown by a quarter of that.
  static constexpr int kMaxLogPages = 16'384;
  static constexpr int kReadersTimeoutMs = 250;

  // `path` is for messages, too, and outlives the object.
  explicit SociConnection(const std::string& path) : path_(path) {}
  SociConnection(const SociConnection&) = delete;
  SociConnection& operator=(const SociConnection&) = delete;

  // Call once, before anything else. kReadAndWrite makes the file what it has to be.
  absl::Status Open(Use use);
  // Runs `fn` in one transaction, from `begin` to `end`; undone when one of them fails.
  absl::Status Run(const char* begin, absl::FunctionRef<absl::Status(Transaction&)> fn,
                   const char* end);
  // One or several statements without values; `what` is for the message.
  absl::Status Execute(const std::string& sql, absl::string_view what);
  absl::Status Execute(const std::string& sql) { return Execute(sql, sql); }
  soci::session& session() { return session_; }

 private:
  static int OnCommit(void* self, sqlite_api::sqlite3* connection, const char* database, int pages);

  const std::string& path_;
  int restart_at_pages_ = kMaxLogPages;
  soci::session session_;
  SociStatements statements_;  // of the session: destroyed before it
};

}  // namespace muster::controller
