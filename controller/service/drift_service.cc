#include "controller/service/drift_service.h"

#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "controller/drift/drift_checks.h"
#include "controller/inventory/inventory.h"
#include "controller/session/caller.h"

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

}  // namespace muster::controller
