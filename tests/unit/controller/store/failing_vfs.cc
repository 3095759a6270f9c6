#include "tests/unit/controller/store/failing_vfs.h"

namespace muster::testing {
namespace {

using sqlite_api::sqlite3_file;
using sqlite_api::sqlite3_int64;
using sqlite_api::sqlite3_vfs;

FailingVfs* current = nullptr;
sqlite3_vfs* real_vfs = nullptr;

// SQLite allocates szOsFile bytes: ours, followed by the real file system's.
struct File {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
sqlite3_file* RealOf(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }

int Close(sqlite3_file* file) { return RealOf(file)->pMethods->xClose(RealOf(file)); }
int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  return RealOf(file)->pMethods->xRead(RealOf(file), data, size, offset);
}
int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const int error = current->Begin();
  const int result = RealOf(file)->pMethods->xWrite(RealOf(file), data,
                                                    error == SQLITE_OK ? size : size / 2, offset);
  if (error == SQLITE_IOERR) return SQLITE_IOERR_WRITE;
  return error == SQLITE_OK ? result : error;
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (current->Begin() != SQLITE_OK) return SQLITE_IOERR_TRUNCATE;
  return RealOf(file)->pMethods->xTruncate(RealOf(file), size);
}
int Sync(sqlite3_file* file, int flags) {
  if (current->Begin() != SQLITE_OK) return SQLITE_IOERR_FSYNC;
  return RealOf(file)->pMethods->xSync(RealOf(file), flags);
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return RealOf(file)->pMethods->xFileSize(RealOf(file), size);
}
int Lock(sqlite3_file* file, int lock) { return RealOf(file)->pMethods->xLock(RealOf(file), lock); }
int Unlock(sqlite3_file* file, int lock) {
  return RealOf(file)->pMethods->xUnlock(RealOf(file), lock);
}
int CheckReservedLock(sqlite3_file* file, int* result) {
  return RealOf(file)->pMethods->xCheckReservedLock(RealOf(file), result);
}
int FileControl(sqlite3_file* file, int operation, void* argument) {
  return RealOf(file)->pMethods->xFileControl(RealOf(file), operation, argument);
}
int SectorSize(sqlite3_file* file) { return RealOf(file)->pMethods->xSectorSize(RealOf(file)); }
int DeviceCharacteristics(sqlite3_file* file) {
  return RealOf(file)->pMethods->xDeviceCharacteristics(RealOf(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
  return RealOf(file)->pMethods->xShmMap(RealOf(file), page, size, extend, memory);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return RealOf(file)->pMethods->xShmLock(RealOf(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) { RealOf(file)->pMethods->xShmBarrier(RealOf(file)); }
int ShmUnmap(sqlite3_file* file, int remove) {
  return RealOf(file)->pMethods->xShmUnmap(RealOf(file), remove);
}

// Version 2: no memory-mapped reads, which bypass xRead.
constexpr sqlite_api::sqlite3_io_methods kMethods = {2,
                                                     Close,
                                                     Read,
                                                     Write,
                                                     Truncate,
                                                     Sync,
                                                     FileSize,
                                                     Lock,
                                                     Unlock,
                                                     CheckReservedLock,
                                                     FileControl,
                                                     SectorSize,
                                                     DeviceCharacteristics,
                                                     ShmMap,
                                                     ShmLock,
                                                     ShmBarrier,
                                                     ShmUnmap,
                                                     nullptr,
                                                     nullptr};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const int result = real_vfs->xOpen(real_vfs, name, RealOf(file), flags, out_flags);
  // Without methods SQLite does not close it.
  file->pMethods = RealOf(file)->pMethods == nullptr ? nullptr : &kMethods;
  return result;
}

}  // namespace

FailingVfs::FailingVfs() {
  current = this;
  real_vfs = sqlite_api::sqlite3_vfs_find(nullptr);
  vfs_ = *real_vfs;
  vfs_.zName = "failing";
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_vfs->szOsFile;
  vfs_.xOpen = Open;
  sqlite_api::sqlite3_vfs_register(&vfs_, /*makeDflt=*/1);
}

FailingVfs::~FailingVfs() {
  sqlite_api::sqlite3_vfs_unregister(&vfs_);
  sqlite_api::sqlite3_vfs_register(real_vfs, /*makeDflt=*/1);
  current = nullptr;
}

void FailingVfs::FailAt(int first, int count, int error) {
  operations_ = 0;
  first_ = first;
  last_ = first + count - 1;
  error_ = error;
}

int FailingVfs::Begin() {
  ++operations_;
  return operations_ >= first_ && operations_ <= last_ ? error_ : SQLITE_OK;
}

}  // namespace muster::testing
