#include "controller/service/command_service.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/command_limits.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/command/node_commands.h"
#include "controller/inventory/inventory.h"
#include "controller/run/collaborators.h"
#include "controller/service/front/request_rules.h"
#include "controller/service/front/watch_reactor.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {

absl::StatusOr<CommandOrder> CommandService::OrderOf(const v1::RunCommandRequest& request) {
  if (!is_on_) {
    return absl::FailedPreconditionError(
        "commands on nodes are off; exec: \"on\" in controller.yaml and a restart of musterd turn "
        "them on");
  }
  RETURN_IF_ERROR(Validate(request));
  CommandOrder order;
  order.argv.assign(request.argv().begin(), request.argv().end());
  order.time_limit = request.has_time_limit() ? ToDuration(request.time_limit()) : kCommandTime;
  order.at_once = request.at_once() == 0 ? kCommandsAtOnce : request.at_once();
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  ASSIGN_OR_RETURN(const std::vector<const Node*> nodes,
                   Select(*current.inventory, request.nodes()));
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    for (const Node* node : nodes) {
      const absl::StatusOr<NodeRecord> joined = txn.nodes().GetByName(node->name);
      if (!joined.ok() && !absl::IsNotFound(joined.status())) return joined.status();
      const bool is_member = joined.ok() && (joined->state == NodeRecord::kEnrolled ||
                                             joined->state == NodeRecord::kConfigured);
      order.nodes.push_back({node->name, is_member ? joined->uuid : ""});
    }
    return absl::OkStatus();
  }));
  if (!order.nodes.empty()) return order;
  return absl::InvalidArgumentError(absl::StrCat("nodes: '", request.nodes(), "' names none"));
}

grpc::ServerWriteReactor<v1::RunCommandResponse>* CommandService::RunCommand(
    grpc::CallbackServerContext* context, const v1::RunCommandRequest* request) {
  auto* reactor = new WatchReactor<v1::RunCommandResponse>(
      calls_, context,
      "the controller is stopping, or its store does not answer; the command was ended");
  const auto begin = [&]() -> absl::StatusOr<std::shared_ptr<CommandWatch>> {
    ASSIGN_OR_RETURN(const Caller caller, CallerOf(*context));
    ASSIGN_OR_RETURN(CommandOrder order, OrderOf(*request));
    return commands_.Begin(std::move(order), caller.ToActor(), [reactor] { reactor->OnReady(); });
  };
  absl::StatusOr<std::shared_ptr<CommandWatch>> watch = begin();
  if (watch.ok()) {
    reactor->Start(*std::move(watch));
  } else {
    reactor->Fail(watch.status());
  }
  return reactor;
}

}  // namespace muster::controller
