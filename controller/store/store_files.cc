#include "controller/store/store_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

// Parts of the database header, https://www.sqlite.org/fileformat.html#the_database_header: big
// endian.
constexpr size_t kHeaderBytes = 100;
constexpr size_t kPageSizeOffset = 16;   // two bytes; 1 stands for 65536
constexpr size_t kPageCountOffset = 28;  // four bytes

uint64_t BigEndian(const unsigned char* bytes, size_t count) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; ++i) number = number << 8 | bytes[i];
  return number;
}

}  // namespace

void StoreFiles::Remember() {
  files_.clear();
  for (const char* suffix : {"", "-wal"}) {
    struct stat info;
    const std::string path = absl::StrCat(path_, suffix);
    if (stat(path.c_str(), &info) != 0) continue;
    files_.push_back({path, info.st_dev, info.st_ino, info.st_size});
  }
}

void StoreFiles::RememberGrowth() {
  for (File& file : files_) {
    struct stat info;
    if (stat(file.path.c_str(), &info) == 0) file.size = std::max(file.size, info.st_size);
  }
}

absl::StatusOr<bool> StoreFiles::HaveShrunk() const {
  bool shrunk = false;
  for (const File& file : files_) {
    struct stat info;
    if (stat(file.path.c_str(), &info) != 0 || info.st_dev != file.device ||
        info.st_ino != file.inode) {
      return absl::FailedPreconditionError(absl::StrCat(
          file.path,
          " was moved, removed or replaced while musterd has it open; nothing is stored ",
          "until this is repaired, so that nothing is lost. Put the file back where it was, or ",
          "restart musterd (systemctl restart musterd) to continue with the present file"));
    }
    shrunk = shrunk || info.st_size < file.size;
  }
  return shrunk;
}

// Uses SQLite's own descriptor: closing another one of ours would drop its locks.
bool IsWhole(soci::session& session) {
  auto* backend = static_cast<soci::sqlite3_session_backend*>(session.get_backend());
  sqlite_api::sqlite3_file* file = nullptr;
  sqlite_api::sqlite3_int64 size = 0;
  unsigned char header[kHeaderBytes];
  if (sqlite_api::sqlite3_file_control(backend->conn_, "main", SQLITE_FCNTL_FILE_POINTER, &file) !=
          SQLITE_OK ||
      file->pMethods->xFileSize(file, &size) != SQLITE_OK ||
      file->pMethods->xRead(file, header, sizeof header, 0) != SQLITE_OK) {
    return false;
  }
  const uint64_t page_size = BigEndian(header + kPageSizeOffset, 2);
  const uint64_t pages = BigEndian(header + kPageCountOffset, 4);
  return static_cast<uint64_t>(size) >= pages * (page_size == 1 ? 65536 : page_size);
}

}  // namespace muster::controller
