#include "controller/service/boot_service.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/peer.h"
#include "controller/audit/audit.h"
#include "controller/boot/boots.h"
#include "controller/inventory/boot_choice.h"
#include "controller/inventory/inventory.h"
#include "controller/run/collaborators.h"
#include "controller/service/front/request_rules.h"
#include "controller/session/caller.h"

namespace muster::controller {
namespace {

absl::StatusOr<std::vector<const Node*>> SelectSome(const Inventory& inventory,
                                                    const std::string& selector) {
  ASSIGN_OR_RETURN(std::vector<const Node*> nodes, Select(inventory, selector));
  if (!nodes.empty()) return nodes;
  return absl::InvalidArgumentError(absl::StrCat("nodes: '", selector, "' names none"));
}

}  // namespace

grpc::Status BootService::ListBoots(grpc::ServerContext*, const v1::ListBootsRequest* request,
                                    v1::ListBootsResponse* response) {
  return ToGrpc(List(*request, *response));
}

grpc::Status BootService::ListUnknownMachines(grpc::ServerContext*,
                                              const v1::ListUnknownMachinesRequest*,
                                              v1::ListUnknownMachinesResponse* response) {
  *response = boots_.ListUnknown();
  for (v1::UnknownMachine& machine : *response->mutable_machines())
    machine.set_address(PeerAddress(machine.address()));
  return grpc::Status::OK;
}

grpc::Status BootService::SetBoot(grpc::ServerContext* context, const v1::SetBootRequest* request,
                                  v1::SetBootResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) -> absl::Status {
    RETURN_IF_ERROR(Validate(*request));
    const std::optional<BootChoice> choice = ParseBootChoice(request->what());
    if (!choice.has_value())
      return absl::InvalidArgumentError(
          "what: must be disk, rescue, or an image as `muster image list` shows them");
    ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
    ASSIGN_OR_RETURN(const std::vector<const Node*> nodes,
                     SelectSome(*current.inventory, request->nodes()));
    RETURN_IF_ERROR(boots_.Set(*current.inventory, nodes, *choice, request->once(), actor));
    for (const Node* node : nodes) response->add_nodes(node->name);
    return absl::OkStatus();
  });
}

grpc::Status BootService::ClearBoot(grpc::ServerContext* context,
                                    const v1::ClearBootRequest* request,
                                    v1::ClearBootResponse* response) {
  return ActAsCaller(*context, [&](const Actor& actor) -> absl::Status {
    RETURN_IF_ERROR(Validate(*request));
    ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
    ASSIGN_OR_RETURN(const std::vector<const Node*> nodes,
                     SelectSome(*current.inventory, request->nodes()));
    ASSIGN_OR_RETURN(const std::vector<std::string> cleared, boots_.Clear(nodes, actor));
    for (const std::string& name : cleared) response->add_nodes(name);
    return absl::OkStatus();
  });
}

absl::Status BootService::List(const v1::ListBootsRequest& request,
                               v1::ListBootsResponse& response) {
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  ASSIGN_OR_RETURN(const std::vector<const Node*> nodes,
                   Select(*current.inventory, request.nodes().empty() ? "all" : request.nodes()));
  for (const Node* node : nodes) *response.add_nodes() = boots_.Describe(*current.inventory, *node);
  response.set_dropped(boots_.dropped());
  response.set_is_serving(is_serving_);
  return absl::OkStatus();
}

}  // namespace muster::controller
