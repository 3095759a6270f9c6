// Standard input of a worker, read in a thread that nothing waits for.
#pragma once

#include "agent/burnin/worker_reporter.h"

namespace muster::burnin {

// Passes peers and stops to `reporter` until standard input ends; with `stop_at_end` its end stops
// the check too: whoever started it is gone. A line that cannot be read stops the check with that
// reason. The thread is detached: `reporter` must live as long as the process.
void StartReadingInput(int fd, bool stop_at_end, WorkerReporter& reporter);

}  // namespace muster::burnin
