#include "agent/disk/root_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"
#include "common/sys/unique_fd.h"

namespace muster::agent::disk {
namespace {

constexpr size_t kPiece = size_t{4} << 20;

absl::Status WritePiece(int fd, absl::string_view piece, const std::string& path) {
  while (!piece.empty()) {
    const ssize_t count = ::write(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return sys::FileError(errno, "writing", path);
    piece.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

// The next bytes, at most `most`; "" at the end.
absl::Status ReadPiece(int fd, size_t most, std::string& piece, const std::string& path) {
  piece.resize(most);
  ssize_t count = 0;
  do {
    count = ::read(fd, piece.data(), piece.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return sys::FileError(errno, "reading", path);
  piece.resize(static_cast<size_t>(count));
  return absl::OkStatus();
}

// What is read afterwards comes from the disk and not from memory.
void ForgetCache(int fd) {
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  struct stat info = {};
  if (::fstat(fd, &info) == 0 && S_ISBLK(info.st_mode)) ::ioctl(fd, BLKFLSBUF, 0);
}

absl::StatusOr<std::string> DigestOnDisk(const std::string& path, uint64_t bytes) {
  const sys::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return sys::FileError(errno, "opening", path);
  ForgetCache(fd.get());
  Sha256 digest;
  std::string piece;
  while (bytes > 0) {
    RETURN_IF_ERROR(
        ReadPiece(fd.get(), static_cast<size_t>(std::min<uint64_t>(bytes, kPiece)), piece, path));
    if (piece.empty()) break;
    digest.Update(piece);
    bytes -= piece.size();
  }
  return digest.FinishHex();
}

}  // namespace

absl::StatusOr<uint64_t> CopyRoot(const RootCopy& copy) {
  const sys::UniqueFd from(::open(copy.from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (!from.valid() || ::fstat(from.get(), &info) != 0)
    return sys::FileError(errno, "opening", copy.from);
  // Not a partition that something else uses.
  const sys::UniqueFd to(::open(copy.to.c_str(), O_WRONLY | O_CLOEXEC | O_EXCL));
  if (!to.valid()) return sys::FileError(errno, "opening", copy.to);
  const auto total = static_cast<uint64_t>(info.st_size);
  Sha256 digest;
  std::string piece;
  uint64_t done = 0;
  while (true) {
    RETURN_IF_ERROR(ReadPiece(from.get(), kPiece, piece, copy.from));
    if (piece.empty()) break;
    digest.Update(piece);
    RETURN_IF_ERROR(WritePiece(to.get(), piece, copy.to));
    done += piece.size();
    if (copy.on_piece) copy.on_piece(done, total);
  }
  if (::fsync(to.get()) != 0) return sys::FileError(errno, "syncing", copy.to);
  if (const std::string read = digest.FinishHex(); read != copy.sha256)
    return absl::DataLossError(
        absl::StrCat(copy.from, " has the digest ", read, ", but is to have ", copy.sha256));
  ASSIGN_OR_RETURN(const std::string kept, DigestOnDisk(copy.to, done));
  if (kept != copy.sha256)
    return absl::DataLossError(
        absl::StrCat(copy.to, " gives back other bytes than were written to it; replace the disk"));
  return done;
}

}  // namespace muster::agent::disk
