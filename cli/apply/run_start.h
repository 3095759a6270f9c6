// Starts a run where other work may hold some of its nodes.
#pragma once

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {

class Connection;

// How to deal with nodes that a run cannot have because other work holds them.
enum class IfBusy {
  kRefuse,    // nothing is started
  kAsk,       // a person decides; without a terminal nothing is started
  kLeaveOut,  // the run starts without them
};

// Returns the run as it starts. Nodes that are left out are named on standard error.
absl::StatusOr<v1::Run> StartRun(Connection& connection, v1::CreateRunRequest request,
                                 IfBusy if_busy);

// The exit code of calls that do not show the run itself (RunExitCode() is for those that do):
// `code`, or kExitUnreachable where nodes were left out and nothing worse happened.
int ExitCodeWithLeftOut(int code, const v1::Run& run);

}  // namespace muster::cli
