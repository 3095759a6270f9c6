// Temporary files of writers that were killed.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::sys {

// A new name beside `path`: in the same folder, because rename(2) does not cross file systems;
// hidden, because programs that read a whole folder (conf.d) skip such names.
std::string TemporaryName(absl::string_view path);

// Removes what TemporaryName() was the name of, for this `path`, and was last changed before
// `time`: with the start of this process, what an earlier one left when it was killed. A writer of
// the same file that has run for longer loses its temporary file too and says so; the file itself
// is never torn. What cannot be removed stays.
void RemoveLeftovers(absl::string_view path, absl::Time time);

// When this process began to write files, by the clock that file systems use.
absl::Time FirstWrite();

// The folder of a path: "." for a bare name.
std::string FolderOf(absl::string_view path);

}  // namespace muster::sys
