// Credentials on a file system of a server: root of every machine that mounts it reads their key.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::cli {

// The type of the file system that is mounted with this number, "nfs4", as /proc/self/mountinfo
// says; "": it is not there. Pure.
std::string TypeOfMount(uint64_t number, absl::string_view mountinfo);

// The type of the file system that `folder` is on; "": unknown.
std::string FileSystemTypeOf(const std::string& folder, sys::FileSystem& files);

// What the holder of a role is told of credentials in `folder`, which is on a file system of this
// type; "": nothing. Viewers are told nothing: their key changes nothing. Pure.
std::string SharedFolderWarning(absl::string_view folder, absl::string_view type,
                                absl::string_view role);

}  // namespace muster::cli
