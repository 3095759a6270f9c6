// How RealFileSystem replaces a file.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"

namespace muster::sys {

// See FileSystem::WriteAtomically.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 const WriteOptions& options);
// The same with the content of the file `from`, which may be too large for memory. `may_move`:
// `from` itself may become the file, and no byte is copied if both are on one file system, and
// under SELinux in one folder; otherwise `from` stays as it is.
absl::Status PlaceFile(const std::string& from, const std::string& path,
                       const WriteOptions& options, bool may_move);
// See FileSystem::MakeSymlink.
absl::Status ReplaceWithSymlink(const std::string& target, const std::string& path);

}  // namespace muster::sys
