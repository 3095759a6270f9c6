// The question that is asked before an apply, with what the controller knows about it.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::v1 {
class CreateRunRequest;
}

namespace muster::cli {

class Connection;

// Asks whether to carry out `request`, whose bundles are uploaded. The question names the cluster,
// the nodes and, where the run may reboot nodes with jobs, the jobs. `what` is what is applied;
// `reboots_with_jobs` says whether reboots may kill jobs. Cancelled: the answer is no. Otherwise
// the errors that starting the run would have. REQUIRES: a terminal.
absl::Status AskToApply(const Connection& connection, const std::string& what,
                        const v1::CreateRunRequest& request, bool reboots_with_jobs);

}  // namespace muster::cli
