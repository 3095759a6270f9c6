// Which suite the nodes of a rollout have to pass.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::v1 {
class CreateRolloutRequest;
}

namespace muster::controller {

struct RunCollaborators;

// The suite that is asked for, or the one with which the playbook ends for these nodes; "": none.
// InvalidArgument: the playbook ends with several; errors of the suite and of its files, with their
// place. Reads the bundle.
absl::StatusOr<std::string> SuiteForRollout(const RunCollaborators& with,
                                            const v1::CreateRolloutRequest& request,
                                            const std::vector<std::string>& nodes);

}  // namespace muster::controller
