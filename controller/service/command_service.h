// Commands on nodes, for administrators.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "muster/v1/command.grpc.pb.h"

namespace muster::controller {

class InventorySource;
class NodeCommands;
class OpenCalls;
class Store;
struct CommandOrder;

// CommandService. Thread-safe. Calls hold no thread.
class CommandService final
    : public v1::CommandService::WithCallbackMethod_RunCommand<v1::CommandService::Service> {
 public:
  // The references must outlive the object. `is_on`: the setting `exec` of controller.yaml.
  CommandService(NodeCommands& commands, InventorySource& inventory, Store& store, OpenCalls& calls,
                 bool is_on)
      : commands_(commands), inventory_(inventory), store_(store), calls_(calls), is_on_(is_on) {}

  grpc::ServerWriteReactor<v1::RunCommandResponse>* RunCommand(
      grpc::CallbackServerContext* context, const v1::RunCommandRequest* request) override;

 private:
  absl::StatusOr<CommandOrder> OrderOf(const v1::RunCommandRequest& request);

  NodeCommands& commands_;
  InventorySource& inventory_;
  Store& store_;
  OpenCalls& calls_;
  const bool is_on_;
};

}  // namespace muster::controller
