#include "controller/service/drift_service.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "controller/drift/drift_checks.h"
#include "controller/drift/node_comparison.h"
#include "controller/inventory/inventory.h"
#include "controller/session/caller.h"
#include "controller/store/stored_facts.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller {

grpc::Status DriftService::ListDrift(grpc::ServerContext*, const v1::ListDriftRequest* request,
                                     v1::ListDriftResponse* response) {
  return ToGrpc(List(*request, *response));
}

absl::Status DriftService::List(const v1::ListDriftRequest& request,
                                v1::ListDriftResponse& response) {
  std::set<std::string> only;
  if (!request.nodes().empty()) {
    ASSIGN_OR_RETURN(const InventoryVersion version, inventory_.Latest());
    ASSIGN_OR_RETURN(const auto nodes, Select(*version.inventory, request.nodes()));
    for (const Node* node : nodes) only.insert(node->name);
  }
  ASSIGN_OR_RETURN(const std::vector<v1::DriftPolicy> policies,
                   checks_.List(request.nodes().empty() ? nullptr : &only));
  response.mutable_policies()->Assign(policies.begin(), policies.end());
  return absl::OkStatus();
}

grpc::Status DriftService::CompareNodes(grpc::ServerContext*,
                                        const v1::CompareNodesRequest* request,
                                        v1::CompareNodesResponse* response) {
  return ToGrpc(Compare(*request, *response));
}

absl::Status DriftService::Compare(const v1::CompareNodesRequest& request,
                                   v1::CompareNodesResponse& response) {
  ASSIGN_OR_RETURN(const InventoryVersion version, inventory_.Latest());
  std::map<std::string, const Node*> silent;  // those without facts, in the end
  if (request.nodes().empty()) {
    for (const Node& node : version.inventory->nodes()) silent[node.name] = &node;
  } else {
    ASSIGN_OR_RETURN(const auto nodes, Select(*version.inventory, request.nodes()));
    for (const Node* node : nodes) silent[node->name] = node;
  }
  drift::NodeComparison comparison;
  RETURN_IF_ERROR(ForEachFacts(store_, [&](const std::string& name, const std::string& stored) {
    const auto node = silent.find(name);
    v1::Facts facts;
    if (node == silent.end() || !facts.ParseFromString(stored)) return;
    comparison.Add(name, NodeRoleName(node->second->role), facts);
    silent.erase(node);
  }));
  for (const auto& [name, node] : silent) comparison.AddWithoutFacts(name);
  comparison.Finish(response);
  return absl::OkStatus();
}

}  // namespace muster::controller
