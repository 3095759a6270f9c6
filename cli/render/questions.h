// What people are asked before something happens: which cluster, how many nodes, what dies with
// them. Pure.
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

// "Apply playbooks/site.yaml to 3 nodes of cluster lab, c[001-003]?" `jobs`: those that die where
// nodes reboot; nullptr: none does.
std::string ApplyQuestion(absl::string_view playbook, const v1::PreviewRunResponse& preview,
                          const v1::ListNodeJobsResponse* jobs);

// What a removal ends: each node with what it is in the inventory and in Slurm, and its jobs.
std::string RemovalQuestion(absl::string_view cluster, const std::vector<v1::Node>& nodes,
                            const v1::ListNodeJobsResponse& jobs);

// What is left to do after it.
std::string AfterRemoval(const std::vector<v1::Node>& nodes);

// Empty: the change is as harmless as it can be. Otherwise it renames the cluster or drops nodes.
std::string InventoryQuestion(const v1::DiffInventoryResponse& diff);

// That machines stay members though no inventory names them; empty: none does.
std::string AfterInventory(const v1::ApplyInventoryResponse& response);

}  // namespace muster::cli
