// What `scontrol --oneliner show node` prints.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "controller/slurm/slurm_control.h"

namespace muster::controller::slurm {

// A node a line; lines without a node's name and state are passed over. Reasons are free text of
// administrators: nothing in them is taken for a field.
std::vector<SlurmNode> ParseNodes(absl::string_view text);

}  // namespace muster::controller::slurm
