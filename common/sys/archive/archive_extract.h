// Unpacks archives of any size, from an untrusted source, into a directory.
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
  // Number of leading parts removed from each name; entries with fewer parts are skipped.
  uint32_t strip_components = 0;
  // Owner of everything that is unpacked.
  uid_t uid = 0;
  gid_t gid = 0;
  // False: set-id bits, devices and pipes are errors.
  bool allow_special = false;
  uint64_t max_bytes = 0;  // of unpacked contents
  uint64_t max_entries = 0;
  // Refuse archives that grow more than any honest archive does.
  bool check_ratio = true;
  // Where the tree will finally stand; absolute links below it are allowed.
  std::string place = {};
  // Called a few times a second with the bytes of the archive that were read, and their total.
  std::function<void(uint64_t read, uint64_t total)> on_progress = {};
  std::function<bool()> cancelled = {};
};

// An entry that was unpacked.
struct ExtractedEntry {
  std::string path;  // below the directory
  FileType type = FileType::kRegular;
  mode_t mode = 0;
  uint64_t size = 0;        // of a file
  int64_t modified_ns = 0;  // of a file, as on the disk
  std::string link_target;  // of a symbolic link
};

// Unpacks tar or zip, however compressed, from the open file `archive` into `directory`, which is
// empty and out of everybody else's reach (TreeStage). Parents come before their contents, with
// 0755 where the archive does not have them. InvalidArgument, naming the entry: paths and links
// that leave the directory, links through which others would be written, devices, set-id bits, an
// entry twice, damage. ResourceExhausted: above the limits, or the disk is full. After an error the
// directory holds the entries that were unpacked until then.
absl::StatusOr<std::vector<ExtractedEntry>> ExtractArchive(int archive, const Folder& directory,
                                                           const ExtractOptions& options);

}  // namespace muster::sys
