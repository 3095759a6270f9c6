// Which Slurm jobs have a process on this machine.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/text/slurm_job.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

class AccountDatabase;

// The job that a process of this command line belongs to ("1234" of "slurmstepd: [1234.batch]"),
// "" for every other process. Pure.
std::string JobOfCommandLine(absl::string_view command_line);

// Whether a process is root's own, by its /proc/PID/status: by its real uid, which the programs
// that anybody may start as root (setuid) leave as it was. Pure.
bool IsRootsOwn(absl::string_view status);

// The value of a variable in what /proc/PID/environ holds, "" without it. Pure.
std::string VariableOf(absl::string_view environment, absl::string_view name);

// Asks /proc and not Slurm: the answer must not depend on a controller that may be away. Any user
// may give a process the name of a step daemon; only root's count. By id, each job once. Whose a
// job is the kernel says of the processes that its step daemons have started; what it is called, in
// plain text of at most 128 bytes, is what those processes say.
absl::StatusOr<std::vector<SlurmJob>> RunningSlurmJobs(sys::FileSystem& files,
                                                       AccountDatabase& accounts);

}  // namespace muster::agent
