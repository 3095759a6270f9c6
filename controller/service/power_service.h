// The power of machines, and their consoles.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "controller/power/own_machine.h"
#include "muster/v1/power.grpc.pb.h"

namespace muster::controller {

class AgentSessions;
class InventorySource;
class OpenCalls;
class Store;
namespace console {
class ConsoleCaptures;
}
namespace power {
class PowerControl;
struct PowerAction;
}  // namespace power

// PowerService. Thread-safe. Streams hold no thread.
class PowerService final
    : public v1::PowerService::WithCallbackMethod_ReadPower<
          v1::PowerService::WithCallbackMethod_ChangePower<v1::PowerService::Service>> {
 public:
  // The references must outlive the object.
  PowerService(power::PowerControl& control, console::ConsoleCaptures& consoles,
               InventorySource& inventory, Store& store, AgentSessions& sessions, OpenCalls& calls,
               power::OwnMachine own_machine)
      : control_(control),
        consoles_(consoles),
        inventory_(inventory),
        store_(store),
        sessions_(sessions),
        calls_(calls),
        own_machine_(std::move(own_machine)) {}

  grpc::ServerWriteReactor<v1::PowerEvent>* ReadPower(grpc::CallbackServerContext* context,
                                                      const v1::ReadPowerRequest* request) override;
  grpc::ServerWriteReactor<v1::PowerEvent>* ChangePower(
      grpc::CallbackServerContext* context, const v1::ChangePowerRequest* request) override;
  grpc::Status ReadConsole(grpc::ServerContext* context, const v1::ReadConsoleRequest* request,
                           v1::ReadConsoleResponse* response) override;

 private:
  grpc::ServerWriteReactor<v1::PowerEvent>* Begin(
      grpc::CallbackServerContext* context,
      const std::function<absl::StatusOr<power::PowerAction>()>& action);
  absl::StatusOr<power::PowerAction> ActionOf(const v1::ChangePowerRequest& request);
  // Sets the targets of the action. FailedPrecondition: a rollout has one of them, or one is the
  // machine of the controller, and the order is disruptive.
  absl::Status AddTargets(const std::string& selector, power::PowerAction& action);

  power::PowerControl& control_;
  console::ConsoleCaptures& consoles_;
  InventorySource& inventory_;
  Store& store_;
  AgentSessions& sessions_;
  OpenCalls& calls_;
  const power::OwnMachine own_machine_;
};

}  // namespace muster::controller
