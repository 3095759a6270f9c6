// What a check found missing that another step of the plan may bring.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"

namespace muster::v1 {
class Step;
}

namespace muster::agent {

// FailedPrecondition, as Resource::Check() has it. Packages: that no repository has.
absl::Status MissingPackages(absl::string_view message);
// A file or folder.
absl::Status MissingPath(absl::string_view path, absl::string_view message);

// OK unless the folder that `path` lies in is not there, or is none.
absl::Status CheckFolderOf(const std::string& path, sys::FileSystem& files);

// Whether `step`, when it changes something, may bring what `error` is about: a repository may have
// the package, a package may bring the folder. True for errors that do not say what is missing.
bool MayBring(const v1::Step& step, const absl::Status& error);

}  // namespace muster::agent
