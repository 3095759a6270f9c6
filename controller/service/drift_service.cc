#include "controller/service/drift_service.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "controller/drift/drift_checks.h"
#include "controller/drift/node_comparison.h"
#include "controller/drift/package_comparison.h"
#include "controller/inventory/inventory.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/caller.h"
#include "controller/session/facts_keeper.h"
#include "controller/store/store.h"
#include "controller/store/stored_facts.h"
#include "controller/store/tables.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller {
namespace {

// An agent gives its probes five seconds.
constexpr absl::Duration kPackagesTimeout = absl::Seconds(10);

}  // namespace

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

grpc::Status DriftService::CompareNodes(grpc::ServerContext* context,
                                        const v1::CompareNodesRequest* request,
                                        v1::CompareNodesResponse* response) {
  const absl::Status compared = Compare(*request, *response);
  if (!compared.ok() || !request->name_packages()) return ToGrpc(compared);
  const absl::StatusOr<Caller> caller = CallerOf(*context);
  if (!caller.ok()) return ToGrpc(caller.status());
  drift::NamePackages(*response, [&](const std::string& node) -> absl::StatusOr<v1::PackageFacts> {
    if (context->IsCancelled()) return absl::CancelledError("nobody waits");
    return PackagesOf(caller->identity.name, node);
  });
  return grpc::Status::OK;
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

absl::StatusOr<v1::PackageFacts> DriftService::PackagesOf(const std::string& person,
                                                          const std::string& node) {
  std::string uuid;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const NodeRecord record, txn.nodes().GetByName(node));
    uuid = record.uuid;
    return absl::OkStatus();
  }));
  if (!sessions_.IsConnected(uuid)) return absl::NotFoundError("it is not connected");
  v1::PackageFacts packages;
  RETURN_IF_ERROR(facts_.Refresh(sessions_, uuid, person, kPackagesTimeout, &packages));
  return packages;
}

}  // namespace muster::controller
