// Files as Muster uses them: read whole, replaced whole.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::sys {

enum class FileType { kRegular, kDirectory, kSymlink, kOther };

struct FileStat {
  FileType type = FileType::kRegular;
  mode_t mode = 0;  // permission bits only (07777)
  uid_t uid = 0;
  gid_t gid = 0;
  uint64_t size = 0;        // bytes
  int64_t modified_ns = 0;  // nanoseconds since 1970
};

// Owner and permissions; absent ones are left as they are.
struct FileAttributes {
  std::optional<mode_t> mode;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

// A consistent view of a path: `content` and `stat` come from one descriptor, even if somebody
// renames things there meanwhile.
struct FileView {
  FileStat stat;
  std::string content;  // of a regular file; the target of a link
};

// How new content replaces the old.
struct WriteOptions {
  // Absent: those of the regular file that is replaced; for a new file, 0644 and the caller's own.
  std::optional<mode_t> mode;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  // Called with the path of the complete new file before it replaces the old one; an error leaves
  // the old file as it was and is returned unchanged. Where anybody but root could put something
  // else at that path, it is the path of a copy in a folder of root's.
  std::function<absl::Status(const std::string& new_path)> verify;
};

// Bounds the memory that a careless path (a device, a log) can take.
inline constexpr size_t kMaxReadBytes = size_t{64} << 20;

// The node's files. Paths are absolute. Errors name the path: NotFound when it does not exist,
// PermissionDenied when it leads through a link that root does not follow (common/sys/place.h).
// Every call may block on the disk. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The whole content, through symbolic links that root made. ResourceExhausted when it is above
  // `max_bytes`.
  virtual absl::StatusOr<std::string> Read(const std::string& path,
                                           size_t max_bytes = kMaxReadBytes) = 0;
  // At every instant the file is either the old one or the new one, also after a power cut, and it
  // is never readable by more users than its mode allows. A symbolic link at `path` is replaced,
  // not followed; a directory is an error. On a full or read-only disk the old file stays and no
  // debris is left.
  virtual absl::Status WriteAtomically(const std::string& path, const std::string& content,
                                       const WriteOptions& options) = 0;
  // For files of /proc and /sys, where a write is a request to the kernel: one write(2) of the
  // whole request, to an existing file. InvalidArgument: the kernel refuses it.
  virtual absl::Status WriteToKernel(const std::string& path, const std::string& request) = 0;
  // Describes the path itself, not the target of a link; nullopt when nothing is there.
  virtual absl::StatusOr<std::optional<FileStat>> Stat(const std::string& path) = 0;
  // The same with the content, which is omitted for files above `max_bytes`.
  virtual absl::StatusOr<std::optional<FileView>> View(const std::string& path,
                                                       size_t max_bytes = kMaxReadBytes) = 0;
  // Creates missing parents too, with 0755; an existing directory is left as it is.
  virtual absl::Status MakeDirectory(const std::string& path, mode_t mode) = 0;
  // Removes a file, a link or an empty directory; `recursive` also removes the contents, without
  // following links. It is a success if nothing is there. FailedPrecondition at a mount, be it
  // `path` itself or below: what is mounted is left alone.
  virtual absl::Status Remove(const std::string& path, bool recursive) = 0;
  virtual absl::StatusOr<std::string> ReadLink(const std::string& path) = 0;
  // Replaces a file or a link at `path` in one step; a directory there is an error.
  virtual absl::Status MakeSymlink(const std::string& target, const std::string& path) = 0;
  // For a file or directory. A link is not followed: InvalidArgument. PermissionDenied for a file
  // that belongs to a user and would belong to somebody else: it has to be written anew.
  virtual absl::Status SetAttributes(const std::string& path, const FileAttributes& attributes) = 0;
  // Names in a directory, sorted, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
  // The first folder on the way to `path` whose owner is not root and so decides what stands there;
  // "": there is none.
  virtual absl::StatusOr<std::string> ForeignFolder(const std::string& path) = 0;
};

class RealFileSystem final : public FileSystem {
 public:
  absl::StatusOr<std::string> Read(const std::string& path,
                                   size_t max_bytes = kMaxReadBytes) override;
  absl::Status WriteAtomically(const std::string& path, const std::string& content,
                               const WriteOptions& options) override;
  absl::Status WriteToKernel(const std::string& path, const std::string& request) override;
  absl::StatusOr<std::optional<FileStat>> Stat(const std::string& path) override;
  absl::StatusOr<std::optional<FileView>> View(const std::string& path,
                                               size_t max_bytes = kMaxReadBytes) override;
  absl::Status MakeDirectory(const std::string& path, mode_t mode) override;
  absl::Status Remove(const std::string& path, bool recursive) override;
  absl::StatusOr<std::string> ReadLink(const std::string& path) override;
  absl::Status MakeSymlink(const std::string& target, const std::string& path) override;
  absl::Status SetAttributes(const std::string& path, const FileAttributes& attributes) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override;
  absl::StatusOr<std::string> ForeignFolder(const std::string& path) override;
};

}  // namespace muster::sys
