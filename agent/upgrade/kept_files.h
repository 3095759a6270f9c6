// The files of installed Debian packages, kept so that they can be put back without any package.
//
// <folder>/
// ├── list        "package NAME" for each package, then "file MODE PATH" or "link PATH" for each
// │               of their files; written last
// └── root/PATH   the files
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace muster::sys {
class FileSystem;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::agent {

// Copies the files of `names`, which are installed, into `folder`. Folders and what is neither a
// file nor a link are left out.
absl::Status KeepPackageFiles(const std::vector<std::string>& names, const std::string& folder,
                              sys::FileSystem& files, sys::ProcessRunner& processes);

// Puts them back, and removes what the packages have brought since. Nothing happens where nothing
// was kept. Safe to call again.
absl::Status PutBackPackageFiles(const std::string& folder, sys::FileSystem& files,
                                 sys::ProcessRunner& processes);

}  // namespace muster::agent
