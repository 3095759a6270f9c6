// muster-burnin as a process: how it is called, and how one that was left behind is ended.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/process/process.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/records.pb.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

// The process that carries out the check; `key_file` holds its pair key. InvalidArgument: a name
// that could be taken for something else.
absl::StatusOr<sys::ProcessSpec> WorkerProcess(absl::string_view program,
                                               const v1::StartCheck& check,
                                               absl::string_view key_file);

// When the process started, in the kernel's ticks since boot; 0: there is no such process. Together
// with its id it identifies a process permanently.
uint64_t StartTicksOf(int pid, sys::FileSystem& files);

// Kills the process that an earlier life of the agent left running for this check, if it is still
// the same. True: there was one.
bool KillLeftBehind(const v1::CheckRecord& record, sys::FileSystem& files);

}  // namespace muster::agent
