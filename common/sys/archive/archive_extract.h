// Archives of any size, unpacked into a directory, from somewhere we do not trust.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"
#include "common/sys/folder.h"

namespace muster::sys {

struct ExtractOptions {
  // Leading parts taken off each name; entries without that many are passed over.
  uint32_t strip_components = 0;
  // Of everything that is unpacked.
  uid_t uid = 0;
  gid_t gid = 0;
  // False: set-id bits, devices and pipes are errors.
  bool allow_special = false;
  uint64_t max_bytes = 0;  // that come out
  uint64_t max_entries = 0;
  // Refuse what grows more than any honest archive does.
  bool check_ratio = true;
  // Where the tree will stand in the end; absolute links below it are allowed.
  std::string place = {};
  // A few times a second: bytes of the archive read, of how many.
  std::function<void(uint64_t read, uint64_t total)> on_progress = {};
  std::function<bool()> cancelled = {};
};

// Something that was unpacked.
struct ExtractedEntry {
  std::string path;  // below the directory
  FileType type = FileType::kRegular;
  mode_t mode = 0;
  uint64_t size = 0;        // of a file
  int64_t modified_ns = 0;  // of a file, as it is on the disk
  std::string link_target;  // of a symbolic link
};

// Unpacks tar or zip, however compressed, from the open file `archive` into `directory`, which is
// empty and out of everybody else's reach (TreeStage). Parents come before what is in them, with
// 0755 where the archive does not have them. InvalidArgument, naming the entry: paths and links
// that leave the directory, links through which others would be written, devices, set-id bits, an
// entry twice, damage. ResourceExhausted: above the limits, or the disk is full. After an error the
// directory holds what was unpacked until then.
absl::StatusOr<std::vector<ExtractedEntry>> ExtractArchive(int archive, const Folder& directory,
                                                           const ExtractOptions& options);

}  // namespace muster::sys
