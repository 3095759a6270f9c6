// Processes as /proc shows them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

// Whether a name in /proc is that of a process. Pure.
bool IsProcess(absl::string_view name);

// Returns the words after `key` in /proc/PID/status. After "Uid:" they are the real, the effective,
// the saved and the file system's uid. Pure.
std::vector<absl::string_view> StatusWords(absl::string_view status, absl::string_view key);

// The first of them; "": there is none. Pure.
absl::string_view FirstStatusWord(absl::string_view status, absl::string_view key);

// What is mounted as the root of the process with this /proc/PID/mountinfo: "254:0 /"; "": its root
// is a folder of a file system, as chroot makes it. The link /proc/PID/root does not say it: it is
// "/" in each container. Pure.
std::string RootMount(absl::string_view mountinfo);

// The processes with any of their uids `uid`: "munged (pid 812)". Those with another root than this
// one are left out, as usermod does: containers have accounts of their own.
absl::StatusOr<std::vector<std::string>> ProcessesOfUser(uid_t uid, sys::FileSystem& files);

}  // namespace muster::agent
