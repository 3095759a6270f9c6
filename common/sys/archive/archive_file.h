// Archives of large files on disk (.tar.gz), a piece at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {

// Writes a new archive. The file is complete and durable after Finish(); destroyed before, it is
// taken away. Not thread-safe.
class ArchiveFileWriter {
 public:
  // AlreadyExists: there is a file `path`. Its mode is 0600.
  static absl::StatusOr<std::unique_ptr<ArchiveFileWriter>> Create(const std::string& path);
  virtual ~ArchiveFileWriter() = default;
  virtual absl::Status AddText(const std::string& name, absl::string_view text) = 0;
  // The file's content as it is now; an error when it changes its size meanwhile.
  virtual absl::Status AddFile(const std::string& name, const std::string& source) = 0;
  virtual absl::Status Finish() = 0;
};

// An entry that is being read: `read` fills a piece, "" at its end.
using ReadPiece = std::function<absl::StatusOr<absl::string_view>()>;
using OnEntry =
    std::function<absl::Status(const std::string& name, uint64_t size, const ReadPiece& read)>;

// Calls `on_entry` for each file of the archive, in their order. InvalidArgument for what is
// damaged and for entries that are absolute, climb with "..", or are links or devices; the error
// of `on_entry` otherwise. What it does not read is passed over.
absl::Status ReadArchiveFile(const std::string& path, const OnEntry& on_entry);

}  // namespace muster::sys
