// The question before an apply, with what the controller knows of it.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::v1 {
class CreateRunRequest;
}

namespace muster::cli {

class Connection;

// Asks whether `request`, whose bundles are uploaded, is to be carried out, naming cluster, nodes
// and, where it may reboot nodes with jobs, the jobs. `what` is what is applied,
// `reboots_with_jobs` whether jobs may die of it. Cancelled: no. Otherwise the errors that starting
// it would have. REQUIRES: a terminal.
absl::Status AskToApply(const Connection& connection, const std::string& what,
                        const v1::CreateRunRequest& request, bool reboots_with_jobs);

}  // namespace muster::cli
