// Errors about something that a check found missing and that another step of the plan may provide.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"

namespace muster::v1 {
class Step;
}

namespace muster::agent {

// FailedPrecondition, as for Resource::Check(). Packages: no repository has them.
absl::Status MissingPackages(absl::string_view message);
// A file or folder.
absl::Status MissingPath(absl::string_view path, absl::string_view message);

// OK unless the folder that holds `path` does not exist, or is not a folder.
absl::Status CheckFolderOf(const std::string& path, sys::FileSystem& files);

// Whether `step`, when it changes something, may provide what `error` reports as missing: a
// repository may have the package, a package may contain the folder. True for errors that do not
// say what is missing.
bool MayBring(const v1::Step& step, const absl::Status& error);

}  // namespace muster::agent
