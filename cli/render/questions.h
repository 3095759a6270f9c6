// The questions that people are asked before something happens: which cluster, how many nodes,
// which jobs die with them. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::v1 {
class ApplyInventoryResponse;
class DiffInventoryResponse;
class ListNodeJobsResponse;
class Node;
class PreviewRunResponse;
}  // namespace muster::v1

namespace muster::cli {

// "Apply playbooks/site.yaml to 3 nodes of cluster lab, c[001-003]?" `jobs`: the jobs that die when
// nodes reboot; nullptr: none.
std::string ApplyQuestion(absl::string_view playbook, const v1::PreviewRunResponse& preview,
                          const v1::ListNodeJobsResponse* jobs);

// What becomes of the jobs on nodes that go.
enum class JobsOnNodes { kStay, kWaitedFor, kEnd };

// Lists what ends: each node with its role in the inventory and in Slurm, and its jobs; then asks
// the question, "Remove $0 from cluster $1?", with the nodes and the cluster.
std::string RemovalQuestion(absl::string_view question, absl::string_view cluster,
                            const std::vector<v1::Node>& nodes,
                            const v1::ListNodeJobsResponse& jobs, JobsOnNodes fate);

// The steps that are left to do after the removal of a membership alone.
std::string AfterRemoval(const std::vector<v1::Node>& nodes);

// Why nodes are not renamed, and what to do instead.
std::string RenameInstead(absl::string_view from, absl::string_view to);

// Empty: the change is harmless. Otherwise it renames the cluster or drops nodes.
std::string InventoryQuestion(const v1::DiffInventoryResponse& diff);

// Says that machines stay members although no inventory names them, and that the controller's
// settings name another cluster; empty: neither.
std::string AfterInventory(const v1::ApplyInventoryResponse& response);

}  // namespace muster::cli
