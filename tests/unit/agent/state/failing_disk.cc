#include "tests/unit/agent/state/failing_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

FailingDisk* current = nullptr;

ino_t InodeOf(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

std::string PathOf(int fd) {
  char path[4096];
  const ssize_t size = ::readlink(absl::StrCat("/proc/self/fd/", fd).c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "";
}

}  // namespace

FailingDisk::FailingDisk(std::string directory) : directory_(std::move(directory)) {
  current = this;
}
FailingDisk::~FailingDisk() { current = nullptr; }

void FailingDisk::FailAt(int first, int count, int error) {
  Mend();
  first_ = first;
  last_ = first + count - 1;
  error_ = error;
}

void FailingDisk::StopAt(int number) {
  Mend();
  stop_at_ = number;
}

void FailingDisk::Mend() {
  log_.clear();
  last_ = -1;
  stop_at_ = 0;
  stopped_ = false;
}

FailingDisk* FailingDisk::Of(const std::string& path) {
  return current != nullptr && absl::StartsWith(path, current->directory_) ? current : nullptr;
}

int FailingDisk::Begin(const std::string& operation, const std::string& path) {
  log_.push_back(absl::StrCat(operation, " ", std::filesystem::path(path).filename().string()));
  const int number = static_cast<int>(log_.size());
  if (number == stop_at_) stopped_ = true;
  if (stopped_) return EIO;
  return number >= first_ && number <= last_ ? error_ : 0;
}

std::string FailingDisk::Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

void FailingDisk::Created(const std::string& path) {
  synced_.erase(InodeOf(path));
  lost_.erase(InodeOf(path));
}

void FailingDisk::Synced(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return;
  if (!S_ISDIR(info.st_mode)) {
    std::string content = Content(absl::StrCat("/proc/self/fd/", fd));
    for (const auto& [begin, end] : lost_[info.st_ino]) {
      for (size_t i = begin; i < std::min(end, content.size()); ++i) content[i] = '\0';
    }
    const auto known = durable_.find(path);
    if (known != durable_.end() && known->second.first == info.st_ino)
      known->second.second = content;
    synced_[info.st_ino] = std::move(content);
    return;
  }
  durable_.clear();
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    const ino_t inode = InodeOf(entry.path());
    durable_[entry.path().string()] = {inode, synced_[inode]};
  }
}

void FailingDisk::SyncFailed(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
  const size_t begin = synced_[info.st_ino].size();
  if (begin < static_cast<size_t>(info.st_size))
    lost_[info.st_ino].emplace_back(begin, static_cast<size_t>(info.st_size));
}

void FailingDisk::CutPower() {
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    std::filesystem::remove(entry.path());
  for (const auto& [path, file] : durable_) std::ofstream(path, std::ios::binary) << file.second;
  synced_.clear();
  lost_.clear();
  for (auto& [path, file] : durable_) {
    file.first = InodeOf(path);
    synced_[file.first] = file.second;
  }
}

}  // namespace muster::testing

using ::muster::testing::FailingDisk;

extern "C" {

ssize_t __real_write(int fd, const void* data, size_t size);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_ftruncate(int fd, off_t size);
int __real_rename(const char* from, const char* to);
int __real_unlink(const char* path);
int __real_open(const char* path, int flags, ...);

namespace {

int Fail(int error) {
  errno = error;
  return -1;
}

int Sync(int fd, const char* name, int (*real)(int)) {
  const std::string path = ::muster::testing::PathOf(fd);
  FailingDisk* disk = FailingDisk::Of(path);
  if (disk == nullptr) return real(fd);
  if (const int error = disk->Begin(name, path); error != 0) {
    if (!disk->stopped()) disk->SyncFailed(fd);
    return Fail(error);
  }
  disk->Synced(fd, path);
  return 0;
}

}  // namespace

ssize_t __wrap_write(int fd, const void* data, size_t size) {
  const std::string path = ::muster::testing::PathOf(fd);
  FailingDisk* disk = FailingDisk::Of(path);
  if (disk == nullptr) return __real_write(fd, data, size);
  const bool was_stopped = disk->stopped();
  const int error = disk->Begin("write", path);
  if (error == 0) return __real_write(fd, data, size);
  if (!was_stopped) (void)!__real_write(fd, data, size / 2);
  return Fail(error);
}

int __wrap_fsync(int fd) { return Sync(fd, "fsync", __real_fsync); }
int __wrap_fdatasync(int fd) { return Sync(fd, "fdatasync", __real_fdatasync); }

int __wrap_ftruncate(int fd, off_t size) {
  const std::string path = ::muster::testing::PathOf(fd);
  FailingDisk* disk = FailingDisk::Of(path);
  const int error = disk == nullptr ? 0 : disk->Begin("ftruncate", path);
  return error == 0 ? __real_ftruncate(fd, size) : Fail(error);
}

int __wrap_rename(const char* from, const char* to) {
  FailingDisk* disk = FailingDisk::Of(to);
  const int error = disk == nullptr ? 0 : disk->Begin("rename", to);
  return error == 0 ? __real_rename(from, to) : Fail(error);
}

int __wrap_unlink(const char* path) {
  FailingDisk* disk = FailingDisk::Of(path);
  const int error = disk == nullptr ? 0 : disk->Begin("unlink", path);
  return error == 0 ? __real_unlink(path) : Fail(error);
}

int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  FailingDisk* disk = (flags & O_CREAT) != 0 ? FailingDisk::Of(path) : nullptr;
  if (disk == nullptr) return __real_open(path, flags, mode);
  if (const int error = disk->Begin("create", path); error != 0) return Fail(error);
  const int fd = __real_open(path, flags, mode);
  if (fd >= 0 && (flags & O_TRUNC) != 0) disk->Created(path);
  return fd;
}

}  // extern "C"
