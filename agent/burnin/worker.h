// One execution of one check, from its parameters to its result.
#pragma once

#include "agent/burnin/command_line.h"
#include "agent/burnin/output.h"
#include "agent/burnin/worker_reporter.h"

namespace muster::burnin {

// Everything a check runs with; all of it outlives the call.
struct WorkerEnvironment {
  Clock& clock;
  sys::FileSystem& files;
  sys::ProcessRunner& processes;
};

// Runs the check of `line` and writes its result. Never fails: anything that could not be done
// makes the result unknown. Returns the exit status: 0 pass, 1 fail, 2 unknown or skipped.
int RunWorker(const CommandLine& line, const WorkerEnvironment& environment,
              WorkerReporter& reporter, Output& output);

}  // namespace muster::burnin
