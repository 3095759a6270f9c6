#include "controller/service/power_service.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/console/console_captures.h"
#include "controller/inventory/inventory.h"
#include "controller/power/power_control.h"
#include "controller/power/power_guard.h"
#include "controller/run/collaborators.h"
#include "controller/service/front/request_rules.h"
#include "controller/service/front/watch_reactor.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

struct VerbRow {
  v1::PowerVerb word;
  power::PowerVerb verb;
};
constexpr VerbRow kVerbs[] = {
    {v1::POWER_VERB_ON, power::PowerVerb::kOn},
    {v1::POWER_VERB_OFF, power::PowerVerb::kOff},
    {v1::POWER_VERB_CYCLE, power::PowerVerb::kCycle},
    {v1::POWER_VERB_RESET, power::PowerVerb::kReset},
    {v1::POWER_VERB_IDENTIFY, power::PowerVerb::kIdentify},
    {v1::POWER_VERB_END_IDENTIFY, power::PowerVerb::kEndIdentify},
};

struct DeviceRow {
  v1::BootDevice word;
  power::BootDevice device;
};
constexpr DeviceRow kDevices[] = {
    {v1::BOOT_DEVICE_UNSPECIFIED, power::BootDevice::kDefault},
    {v1::BOOT_DEVICE_PXE, power::BootDevice::kPxe},
    {v1::BOOT_DEVICE_DISK, power::BootDevice::kDisk},
    {v1::BOOT_DEVICE_BIOS, power::BootDevice::kBios},
};

}  // namespace

absl::Status PowerService::AddTargets(const std::string& selector, power::PowerAction& action) {
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  ASSIGN_OR_RETURN(const std::vector<const Node*> nodes, Select(*current.inventory, selector));
  if (nodes.empty())
    return absl::InvalidArgumentError(absl::StrCat("nodes: '", selector, "' names none"));
  std::set<std::string> up;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> joined, txn.nodes().List());
    if (power::IsDisruptive(action.order.verb)) {
      RETURN_IF_ERROR(power::CheckNotOwnMachine(own_machine_, *current.inventory, nodes, joined));
      std::vector<std::string> names;
      for (const Node* node : nodes) names.push_back(node->name);
      RETURN_IF_ERROR(power::CheckNoRollout(txn, names));
    }
    for (const NodeRecord& node : joined) {
      if (sessions_.IsConnected(node.uuid)) up.insert(node.name);
    }
    return absl::OkStatus();
  }));
  action.targets = power::TargetsOf(*current.inventory, nodes,
                                    [&](const std::string& name) { return up.count(name) > 0; });
  return absl::OkStatus();
}

absl::StatusOr<power::PowerAction> PowerService::ActionOf(const v1::ChangePowerRequest& request) {
  RETURN_IF_ERROR(Validate(request));
  power::PowerAction action;
  for (const VerbRow& row : kVerbs) {
    if (row.word == request.verb()) action.order.verb = row.verb;
  }
  for (const DeviceRow& row : kDevices) {
    if (row.word == request.boot_once()) action.order.boot = row.device;
  }
  action.order.is_soft = request.soft();
  action.force = request.force();
  action.reason = request.reason();
  RETURN_IF_ERROR(AddTargets(request.nodes(), action));
  return action;
}

grpc::ServerWriteReactor<v1::PowerEvent>* PowerService::Begin(
    grpc::CallbackServerContext* context,
    const std::function<absl::StatusOr<power::PowerAction>()>& action) {
  auto* reactor = new WatchReactor<v1::PowerEvent>(
      calls_, context,
      "the controller is stopping, or its store does not answer; machines that were begun are "
      "finished, the others left alone");
  const auto begin = [&]() -> absl::StatusOr<std::shared_ptr<power::PowerWatch>> {
    ASSIGN_OR_RETURN(const Caller caller, CallerOf(*context));
    ASSIGN_OR_RETURN(power::PowerAction wanted, action());
    return control_.Begin(std::move(wanted), caller.ToActor(), [reactor] { reactor->OnReady(); });
  };
  absl::StatusOr<std::shared_ptr<power::PowerWatch>> watch = begin();
  if (watch.ok()) {
    reactor->Start(*std::move(watch));
  } else {
    reactor->Fail(watch.status());
  }
  return reactor;
}

grpc::ServerWriteReactor<v1::PowerEvent>* PowerService::ReadPower(
    grpc::CallbackServerContext* context, const v1::ReadPowerRequest* request) {
  return Begin(context, [&]() -> absl::StatusOr<power::PowerAction> {
    RETURN_IF_ERROR(Validate(*request));
    power::PowerAction action;
    RETURN_IF_ERROR(AddTargets(request->nodes(), action));
    return action;
  });
}

grpc::ServerWriteReactor<v1::PowerEvent>* PowerService::ChangePower(
    grpc::CallbackServerContext* context, const v1::ChangePowerRequest* request) {
  return Begin(context, [&] { return ActionOf(*request); });
}

grpc::Status PowerService::ReadConsole(grpc::ServerContext*, const v1::ReadConsoleRequest* request,
                                       v1::ReadConsoleResponse* response) {
  if (const absl::Status valid = Validate(*request); !valid.ok()) return ToGrpc(valid);
  const size_t most = request->rows() == 0 ? console::ConsoleText::kMostRows : request->rows();
  absl::StatusOr<console::ConsoleView> view =
      consoles_.Read(request->node(), request->after(), most, request->follow());
  if (!view.ok()) return ToGrpc(view.status());
  for (console::ConsoleRow& row : view->rows) {
    v1::ConsoleRow& to = *response->add_rows();
    to.set_number(row.number);
    *to.mutable_time() = ToTimestamp(row.time);
    to.set_text(std::move(row.text));
  }
  response->set_is_read(view->is_read);
  response->set_is_established(view->is_established);
  response->set_trouble(view->trouble);
  return grpc::Status::OK;
}

}  // namespace muster::controller
