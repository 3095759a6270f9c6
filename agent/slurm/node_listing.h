// Parses the output of `scontrol --oneliner show node`.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "muster/v1/slurm.pb.h"

namespace muster::agent {

// One node per line; lines without a node's name and state are skipped. Reasons are free text of
// administrators: nothing in them is taken for a field. Texts are left as they came, even if they
// are not UTF-8.
std::vector<v1::SlurmNode> ParseSlurmNodes(absl::string_view text);

// "drained by root: bad disk"; empty: the node is not held.
std::string HeldBecause(const v1::SlurmNode& node);

// Down, and it answers: Slurm has taken it down when its slurmd came back from a boot, or a person
// has.
bool IsDownButAnswers(const v1::SlurmNode& node);

// The beginning of the reason of every drain by Muster.
inline constexpr absl::string_view kOwnReasonPrefix = "muster:";

// A part of the answer to ListSlurmNodes: `nodes` that sort after `after`, as many as fit into a
// message, cleaned for it.
v1::SlurmNodes SlurmNodesAfter(std::vector<v1::SlurmNode> nodes, absl::string_view after);

}  // namespace muster::agent
