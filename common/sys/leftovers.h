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

// Removes from the folder what TemporaryName() was the name of, for this `name`, and was last
// changed before `time`: with the start of this process, what an earlier one left when it was
// killed. Only files that are ours or the folder's owner's, and only among the first ten thousand
// names: whoever fills a folder does not hold up the writer. A writer of the same file that has run
// for longer loses its temporary file too and says so; the file itself is never torn. What cannot
// be removed stays.
void RemoveLeftovers(const Folder& folder, absl::string_view name, absl::Time time);

// When this process began to write files, by the clock that file systems use.
absl::Time FirstWrite();

}  // namespace muster::sys
