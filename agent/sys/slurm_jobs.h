// Finds the Slurm jobs that have a process on this machine.
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

// Whether a process is root's own, by its /proc/PID/status: by its real uid, which set-uid programs
// leave as it was. Pure.
bool IsRootsOwn(absl::string_view status);

// The value of a variable in the content of /proc/PID/environ, "" without it. Pure.
std::string VariableOf(absl::string_view environment, absl::string_view name);

// Asks /proc and not Slurm: the answer must not depend on a controller that may be away. Any user
// may give a process the name of a step daemon; only root's count. Each job once, by its id. Its
// user comes from the kernel, by the processes that its step daemons have started; its name, in
// plain text of at most 128 bytes, comes from those processes themselves.
absl::StatusOr<std::vector<SlurmJob>> RunningSlurmJobs(sys::FileSystem& files,
                                                       AccountDatabase& accounts);

}  // namespace muster::agent
