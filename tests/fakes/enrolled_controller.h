// A whole controller with three enrolled nodes, and agents that a test controls.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "controller/enrollment/identity.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "tests/fakes/test_controller.h"

namespace muster::controller {

class EnrolledControllerFixture : public ControllerFixture {
 protected:
  static constexpr int kNodes = 3;

  // c001, c002, … in the inventory.
  struct EnrolledNode {
    std::string name;
    std::string uuid;
    ClientIdentity identity;
  };

  // An agent that was welcomed.
  struct Agent {
    std::unique_ptr<v1::AgentSessionService::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream;

    ~Agent() {
      context.TryCancel();
      stream->Finish();
    }
    bool Beat() {
      v1::AgentMessage message;
      message.mutable_heartbeat();
      return stream->Write(message);
    }
  };

  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    {
      const std::unique_ptr<Store> store =
          OpenStore(config_.state_directory + "/muster.db").value();
      ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
        for (int i = 1; i <= kNodes; ++i) {
          NodeRecord node;
          node.uuid = NewUuid();
          node.name = absl::StrFormat("c%03d", i);
          node.state = NodeRecord::kEnrolled;
          RETURN_IF_ERROR(txn.nodes().Put(node));
          nodes_.push_back({node.name, node.uuid, Issue(Role::kNode, node.uuid)});
        }
        return absl::OkStatus();
      }));
    }
    Start();
  }

  // nullptr: the controller does not admit it.
  std::unique_ptr<Agent> Greet(const EnrolledNode& node) {
    auto agent = std::make_unique<Agent>();
    agent->stub = v1::AgentSessionService::NewStub(Connect(controller_->port(), node.identity));
    agent->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    agent->stream = agent->stub->Connect(&agent->context);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("boot");
    v1::ControllerMessage welcome;
    if (agent->stream->Write(hello) && agent->stream->Read(&welcome) && welcome.has_welcome())
      return agent;
    return nullptr;
  }

  std::vector<EnrolledNode> nodes_;
};

}  // namespace muster::controller
