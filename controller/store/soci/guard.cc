#include "controller/store/soci/guard.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/store/soci/headers.h"

namespace muster::controller {
namespace {

// With less space than this, SQLite's own files (WAL index) fail with an I/O error, not with
// "full".
constexpr uint64_t kFullBytes = 256 * 1024;

bool DiskIsFull(const std::string& path) {
  struct statvfs fs;
  return statvfs(path.c_str(), &fs) == 0 && uint64_t{fs.f_bavail} * fs.f_frsize < kFullBytes;
}

bool IsWritable(const std::string& path) {
  return access(path.c_str(), W_OK) == 0 || errno == ENOENT;
}

absl::Status Damaged(absl::string_view path, absl::string_view what, absl::string_view how) {
  return absl::DataLossError(absl::StrCat(
      what, ": ", path, " is damaged (", how,
      "); stop musterd and run `muster backup restore FILE`, or save what can be read with "
      "`sqlite3 ",
      path, " .recover`"));
}

absl::Status Full(absl::string_view path, absl::string_view what) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, ": the disk that holds ", path,
                   " is full; this change was discarded. Free some space there (df -h ", path,
                   ") and try again"));
}

absl::Status SqliteStatus(const soci::sqlite3_soci_error& error, const std::string& path,
                          absl::string_view what) {
  const std::string text = error.get_error_message();
  switch (error.result() & 0xff) {
    case SQLITE_FULL:
      return Full(path, what);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      if (DiskIsFull(path)) return Full(path, what);
      return absl::InternalError(
          absl::StrCat(what, ": ", path, ": ", text,
                       "; look for disk errors with dmesg, for a "
                       "file system that has become read-only with findmnt -T ",
                       path));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(absl::StrCat(what, ": another process keeps ", path,
                                                 " locked (fuser ", path,
                                                 " shows which); try again"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Damaged(path, what, text);
    case SQLITE_ERROR:
      // The statements are fixed, and the migrations created what they name: the file must be
      // damaged.
      if (absl::StrContains(text, "no such ") || absl::StrContains(text, "unsupported"))
        return Damaged(path, what, text);
      return absl::InternalError(absl::StrCat(what, ": ", path, ": ", text));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      // Only the file itself is the cause: a bit in its header says that it is read-only.
      if (IsWritable(path) && IsWritable(path + "-wal") && IsWritable(path + "-shm")) {
        return Damaged(path, what, text);
      }
      return absl::PermissionDeniedError(absl::StrCat(
          what, ": ", path, " cannot be written (", text,
          "); it, its -wal and its -shm must belong to the user that musterd runs as, on a file "
          "system that is mounted to be written (findmnt -T ",
          path, ")"));
    case SQLITE_CONSTRAINT:
      if (absl::StrContains(text, "UNIQUE")) {
        return absl::AlreadyExistsError(absl::StrCat(what, ": ", text));
      }
      return absl::FailedPreconditionError(absl::StrCat(what, ": ", text));
    default:
      return absl::InternalError(absl::StrCat(what, ": ", path, ": ", text));
  }
}

}  // namespace

absl::Status StatusOfCurrentException(absl::string_view path, absl::string_view what) {
  try {
    throw;
  } catch (const soci::sqlite3_soci_error& error) {
    return SqliteStatus(error, std::string(path), what);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", path, ": ", error.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat(what, ": ", path, ": unknown exception"));
  }
}

}  // namespace muster::controller
