// Nodes that are kept out of Slurm or have to reboot, as text for a terminal. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace muster::v1 {
class Node;
class NodeHold;
class DrainNodesResponse;
class ResumeNodesResponse;
}  // namespace muster::v1

namespace muster::cli {

// "admin:ann, 2h 03m ago: bad fan".
std::string DescribeHold(const v1::NodeHold& hold, absl::Time now);

// What nodes, each with its reason, have to reboot that was put off: equal reasons once, below the
// command. "": none.
std::string RenderPendingReboots(std::vector<std::pair<std::string, std::string>> nodes);

// Which nodes are kept out now, and what keeps Slurm from knowing it.
std::string RenderDrained(const v1::DrainNodesResponse& response);

// Where each node stands after a resume, and the holds that are left; equal ones once.
std::string RenderResumed(const v1::ResumeNodesResponse& response, absl::Time now);

}  // namespace muster::cli
