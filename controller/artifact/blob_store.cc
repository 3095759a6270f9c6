#include "controller/artifact/blob_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "common/base/status.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kTemporary = ".tmp-";

// Closes its file descriptor.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

absl::Status DiskError(int error, absl::string_view context) {
  if (error == ENOSPC || error == EDQUOT)
    return absl::ResourceExhaustedError(
        absl::StrCat(context, ": the disk is full; make room and try again"));
  return ErrnoStatus(error, context);
}

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return DiskError(errno, absl::StrCat("making ", path));
}

absl::Status SyncFolder(const std::string& path) {
  const File folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd() >= 0 && fsync(folder.fd()) == 0) return absl::OkStatus();
  return DiskError(errno, absl::StrCat("syncing ", path));
}

class DiskBlobWriter final : public BlobWriter {
 public:
  DiskBlobWriter(int fd, std::string temporary, std::string path, std::string sha256, uint64_t size)
      : file_(fd),
        temporary_(std::move(temporary)),
        path_(std::move(path)),
        sha256_(std::move(sha256)),
        size_(size) {}

  ~DiskBlobWriter() override {
    if (!is_committed_) unlink(temporary_.c_str());
  }

  absl::Status Append(absl::string_view data) override {
    if (data.size() > size_ - written_)
      return absl::ResourceExhaustedError(
          absl::StrCat("more than the ", size_, " announced bytes"));
    digest_.Update(data);
    written_ += data.size();
    while (!data.empty()) {
      const ssize_t count = write(file_.fd(), data.data(), data.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return DiskError(errno, absl::StrCat("writing ", temporary_));
      data.remove_prefix(static_cast<size_t>(count));
    }
    return absl::OkStatus();
  }

  absl::Status Commit() override {
    if (written_ != size_)
      return absl::DataLossError(
          absl::StrCat("the data ends after ", written_, " of ", size_, " bytes"));
    if (const std::string found = digest_.FinishHex(); found != sha256_)
      return absl::DataLossError(
          absl::StrCat("the data has the SHA-256 ", found, ", not ", sha256_));
    if (fsync(file_.fd()) != 0) return DiskError(errno, absl::StrCat("syncing ", temporary_));
    const std::string folder = path_.substr(0, path_.rfind('/'));
    RETURN_IF_ERROR(MakeFolder(folder));
    if (rename(temporary_.c_str(), path_.c_str()) != 0)
      return DiskError(errno, absl::StrCat("renaming to ", path_));
    is_committed_ = true;
    RETURN_IF_ERROR(SyncFolder(folder));
    return SyncFolder(folder.substr(0, folder.rfind('/')));
  }

 private:
  const File file_;
  const std::string temporary_;
  const std::string path_;
  const std::string sha256_;
  const uint64_t size_;
  uint64_t written_ = 0;
  bool is_committed_ = false;
  Sha256 digest_;
};

absl::Status NoSuchBlob(absl::string_view sha256) {
  return absl::NotFoundError(absl::StrCat("there is no blob ", sha256));
}

}  // namespace

absl::StatusOr<std::string> BlobStore::Put(absl::string_view data) {
  std::string sha256 = Sha256Hex(data);
  if (Refresh(sha256)) return sha256;
  ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> writer, Begin(sha256, data.size()));
  RETURN_IF_ERROR(writer->Append(data));
  RETURN_IF_ERROR(writer->Commit());
  return sha256;
}

absl::StatusOr<std::string> BlobStore::ReadAll(absl::string_view sha256, uint64_t max_size) {
  ASSIGN_OR_RETURN(const uint64_t size, Size(sha256));
  if (size > max_size)
    return absl::ResourceExhaustedError(
        absl::StrCat("blob ", sha256, " has ", size, " bytes, above the bound of ", max_size));
  return Read(sha256, 0, size);
}

absl::StatusOr<std::unique_ptr<DiskBlobStore>> DiskBlobStore::Open(const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (absl::string_view(entry.path().filename().c_str()).substr(0, kTemporary.size()) ==
        kTemporary) {
      std::filesystem::remove(entry.path(), error);
    }
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("reading ", folder));
  return std::unique_ptr<DiskBlobStore>(new DiskBlobStore(folder));
}

std::string DiskBlobStore::PathOf(absl::string_view sha256) const {
  return absl::StrCat(folder_, "/", sha256.substr(0, 2), "/", sha256.substr(2));
}

bool DiskBlobStore::Has(absl::string_view sha256) { return Size(sha256).ok(); }

absl::StatusOr<uint64_t> DiskBlobStore::Size(absl::string_view sha256) {
  struct stat info {};
  if (!IsSha256(sha256) || stat(PathOf(sha256).c_str(), &info) != 0) return NoSuchBlob(sha256);
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<std::string> DiskBlobStore::Read(absl::string_view sha256, uint64_t offset,
                                                size_t count) {
  ASSIGN_OR_RETURN(const uint64_t size, Size(sha256));
  if (offset >= size) return std::string();
  const std::string path = PathOf(sha256);
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  std::string data(std::min<uint64_t>(count, size - offset), '\0');
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t got =
        pread(file.fd(), &data[done], data.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, absl::StrCat("reading ", path));
    if (got == 0) return absl::DataLossError(absl::StrCat(path, " became shorter"));
    done += static_cast<size_t>(got);
  }
  return data;
}

absl::StatusOr<int> DiskBlobStore::OpenFile(absl::string_view sha256) {
  if (!IsSha256(sha256)) return NoSuchBlob(sha256);
  const std::string path = PathOf(sha256);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) return fd;
  if (errno == ENOENT) return NoSuchBlob(sha256);
  return ErrnoStatus(errno, absl::StrCat("opening ", path));
}

bool DiskBlobStore::Refresh(absl::string_view sha256) {
  if (!IsSha256(sha256)) return false;
  absl::MutexLock lock(&removing_);
  if (utimensat(AT_FDCWD, PathOf(sha256).c_str(), nullptr, 0) == 0) return true;
  return Has(sha256);  // on a read-only file system, where nothing is removed either
}

absl::StatusOr<std::vector<BlobInfo>> DiskBlobStore::List() {
  namespace fs = std::filesystem;
  std::vector<BlobInfo> blobs;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder_, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string name =
        absl::StrCat(it->path().parent_path().filename().string(), it->path().filename().string());
    struct stat info;
    if (!IsSha256(name) || stat(it->path().c_str(), &info) != 0) continue;
    blobs.push_back({name, absl::TimeFromTimespec(info.st_mtim)});
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("reading ", folder_));
  return blobs;
}

absl::StatusOr<bool> DiskBlobStore::RemoveIfOlder(absl::string_view sha256, absl::Time time) {
  if (!IsSha256(sha256)) return false;
  const std::string path = PathOf(sha256);
  absl::MutexLock lock(&removing_);
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || absl::TimeFromTimespec(info.st_mtim) >= time) return false;
  if (unlink(path.c_str()) == 0) return true;
  return ErrnoStatus(errno, absl::StrCat("removing ", path));
}

absl::StatusOr<std::unique_ptr<BlobWriter>> DiskBlobStore::Begin(absl::string_view sha256,
                                                                 uint64_t size) {
  if (!IsSha256(sha256))
    return absl::InvalidArgumentError("a blob must be named by its SHA-256 in lower-case hex");
  std::string temporary = absl::StrCat(folder_, "/", kTemporary, NewUuid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return DiskError(errno, absl::StrCat("making ", temporary));
  return std::unique_ptr<BlobWriter>(
      new DiskBlobWriter(fd, std::move(temporary), PathOf(sha256), std::string(sha256), size));
}

}  // namespace muster::controller
