// What `scontrol --oneliner show node` prints.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "muster/v1/slurm.pb.h"

namespace muster::agent {

// A node a line; lines without a node's name and state are passed over. Reasons are free text of
// administrators: nothing in them is taken for a field. Texts are as they came, also where they are
// no UTF-8.
std::vector<v1::SlurmNode> ParseSlurmNodes(absl::string_view text);

// "drained by root: bad disk"; empty: it is not held.
std::string HeldBecause(const v1::SlurmNode& node);

// Begins the reason of every drain of Muster's.
inline constexpr absl::string_view kOwnReasonPrefix = "muster:";

// A part of the answer to ListSlurmNodes: `nodes` that sort after `after`, as many as go into a
// message, fit for it.
v1::SlurmNodes SlurmNodesAfter(std::vector<v1::SlurmNode> nodes, absl::string_view after);

}  // namespace muster::agent
