// Temporary files of writers that were killed.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/sys/folder.h"

namespace muster::sys {

// A new name for a file that is to become `name` in the same folder, because rename(2) does not
// cross file systems; hidden, because programs that read a whole folder (conf.d) skip such names.
std::string TemporaryName(absl::string_view name);

// Removes from the folder temporary files that TemporaryName() named for this `name` and that were
// last changed before `time`: given the start of this process, those are the files that an earlier
// process left when it was killed. Only files that are ours or the folder's owner's, and only among
// the first ten thousand names: nobody can hold up the writer by filling a folder. A writer of the
// same file that has been running for longer loses its temporary file too and says so; the file
// itself is never torn. Files that cannot be removed stay.
void RemoveLeftovers(const Folder& folder, absl::string_view name, absl::Time time);

// The same for files of whatever name: for a folder of which this process is the only writer.
void RemoveAllLeftovers(const Folder& folder, absl::Time time);

// When this process first wrote a file, by the clock that file systems use.
absl::Time FirstWrite();

}  // namespace muster::sys
