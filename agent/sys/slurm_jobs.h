// Which Slurm jobs have a process on this machine.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

// The job that a process of this command line belongs to ("1234" of "slurmstepd: [1234.batch]"),
// "" for every other process. Pure.
std::string JobOfCommandLine(absl::string_view command_line);

// Whether a process is root's own, by its /proc/PID/status: by its real uid, which the programs
// that anybody may start as root (setuid) leave as it was. Pure.
bool IsRootsOwn(absl::string_view status);

// Asks /proc and not Slurm: the answer must not depend on a controller that may be away. Any user
// may give a process the name of a step daemon; only root's count. Sorted, each job once.
absl::StatusOr<std::vector<std::string>> RunningSlurmJobs(sys::FileSystem& files);

}  // namespace muster::agent
