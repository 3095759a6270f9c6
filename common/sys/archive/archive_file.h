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

// Writes a new archive. The file is complete and durable after Finish(); if the writer is destroyed
// before that, the file is removed. Not thread-safe.
class ArchiveFileWriter {
 public:
  // The new file has mode 0600. AlreadyExists: the file `path` exists.
  static absl::StatusOr<std::unique_ptr<ArchiveFileWriter>> Create(const std::string& path);
  virtual ~ArchiveFileWriter() = default;
  virtual absl::Status AddText(const std::string& name, absl::string_view text) = 0;
  // Adds the current content of the file `source`; an error when its size changes meanwhile.
  virtual absl::Status AddFile(const std::string& name, const std::string& source) = 0;
  virtual absl::Status Finish() = 0;
};

// The entry being read: each call returns the next piece, "" at its end.
using ReadPiece = std::function<absl::StatusOr<absl::string_view>()>;
using OnEntry =
    std::function<absl::Status(const std::string& name, uint64_t size, const ReadPiece& read)>;

// Calls `on_entry` for each file of the archive, in order. InvalidArgument for damage, which may
// show only after the last entry, and for entries that are absolute, climb with "..", or are links
// or devices; otherwise the error of `on_entry`. Content that `on_entry` does not read is skipped.
absl::Status ReadArchiveFile(const std::string& path, const OnEntry& on_entry);

}  // namespace muster::sys
