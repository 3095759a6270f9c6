// muster-burnin as a process: how it is called.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/process/process.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::agent {

// The process that carries out the check; `key_file` holds its pair key. InvalidArgument: a name
// that could be taken for something else.
absl::StatusOr<sys::ProcessSpec> WorkerProcess(absl::string_view program,
                                               const v1::StartCheck& check,
                                               absl::string_view key_file);

}  // namespace muster::agent
