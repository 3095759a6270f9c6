// The entries on a mounted EFI system partition.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/disk/boot_entries.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent::disk {

std::string EntryFolder(const std::string& esp);

// One entry a root at most: of a root with several, the one that has come up, or else the one with
// the fewest tries. An empty list: there are none yet.
absl::StatusOr<std::vector<BootEntry>> ReadEntries(const std::string& esp, sys::FileSystem& files);

// Removes the entries of a root but for the file `keep`, ""  for none.
absl::Status RemoveEntries(const std::string& esp, char slot, const std::string& keep,
                           sys::FileSystem& files);

// Gives the entry of a root another name, in which at every instant it is there at least once.
// NotFound: there is none.
absl::Status RenameEntry(const std::string& esp, char slot, const std::string& name,
                         sys::FileSystem& files);

}  // namespace muster::agent::disk
