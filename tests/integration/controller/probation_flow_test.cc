// A musterd whose exchange is not over: it welcomes agents and takes nothing, until it is decided.
#include <filesystem>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "common/base/version.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/enrollment.grpc.pb.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::testing::HasSubstr;

constexpr char kProbationUuid[] = "22222222-2222-4222-8222-222222222222";

class ProbationFlowTest : public ControllerFixture {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>;

  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    NodeRecord node;
    node.uuid = kProbationUuid;
    node.name = "c001";
    node.state = NodeRecord::kConfigured;
    std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
    ASSERT_OK(store->Update([&](Transaction& txn) { return txn.nodes().Put(node); }));
    store.reset();  // only one process may hold it
    Write("state/probation", "");
    Start();
    ASSERT_TRUE(controller_->IsOnProbation());
  }

  grpc::Status AskStatus() {
    const auto nodes =
        v1::NodeService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "vera")));
    grpc::ClientContext context;
    v1::GetStatusResponse response;
    return nodes->GetStatus(&context, {}, &response);
  }
  // The answer to the agent's greeting, and how its stream ends if it says no more.
  struct Greeting {
    v1::ControllerMessage first;
    grpc::Status end;
  };
  Greeting Greet(bool leaves) {
    const auto agents = v1::AgentSessionService::NewStub(
        Connect(controller_->port(), Issue(Role::kNode, kProbationUuid)));
    grpc::ClientContext context;
    const std::unique_ptr<Stream> stream = agents->Connect(&context);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("boot");
    hello.mutable_hello()->set_agent_version("0.1.0");
    stream->Write(hello);
    Greeting greeting;
    EXPECT_TRUE(stream->Read(&greeting.first));
    if (leaves) {
      context.TryCancel();
    } else {
      v1::ControllerMessage more;
      EXPECT_FALSE(stream->Read(&more));
    }
    greeting.end = stream->Finish();
    return greeting;
  }
  v1::ListEventsResponse Events() {
    const auto events =
        v1::EventService::NewStub(Connect(controller_->port(), Issue(Role::kOperator, "olga")));
    grpc::ClientContext context;
    v1::ListEventsResponse response;
    EXPECT_TRUE(events->ListEvents(&context, {}, &response).ok());
    return response;
  }
  void Decide(const std::string& notice) {
    Write("state/update", notice);
    std::filesystem::remove(folder_ / "state/probation");
  }
};

TEST_F(ProbationFlowTest, WelcomesAgentsAndTakesNothing) {
  EXPECT_EQ(AskStatus().error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto strangers =
      v1::EnrollmentService::NewStub(Connect(controller_->enrollment_port(), {}));
  grpc::ClientContext context;
  v1::EnrollResponse enrolled;
  EXPECT_EQ(strangers->Enroll(&context, {}, &enrolled).error_code(), grpc::StatusCode::UNAVAILABLE);
  const Greeting greeting = Greet(/*leaves=*/false);
  EXPECT_EQ(greeting.first.welcome().controller_version(), kVersion);
  EXPECT_EQ(greeting.end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_OK(controller_->LeaveProbation());
  EXPECT_TRUE(controller_->IsOnProbation());
}

TEST_F(ProbationFlowTest, BeginsToWorkWhenItIsDecided) {
  Decide("done 0.0.9 0.1.0\n\n");
  EXPECT_OK(controller_->LeaveProbation());
  EXPECT_FALSE(controller_->IsOnProbation());
  EXPECT_TRUE(AskStatus().ok());
  EXPECT_EQ(Greet(/*leaves=*/true).end.error_code(), grpc::StatusCode::CANCELLED);
  bool found = false;
  const v1::ListEventsResponse events = Events();
  for (const v1::Event& event : events.events()) {
    if (event.action() != "controller.update") continue;
    found = true;
    EXPECT_EQ(event.subject(), "0.1.0");
    EXPECT_EQ(event.detail(), "from 0.0.9");
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state/update"));
}

TEST_F(ProbationFlowTest, TheOneOfBeforeNotesWhyItIsBack) {
  controller_.reset();  // a stop on probation, before any work
  Decide("back 0.1.0 0.2.0\nMain process exited, status=1\n");
  Start();
  EXPECT_FALSE(controller_->IsOnProbation());
  int found = 0;
  const v1::ListEventsResponse events = Events();
  for (const v1::Event& event : events.events()) {
    if (event.action() != "controller.update_failed") continue;
    ++found;
    EXPECT_EQ(event.subject(), "0.2.0");
    EXPECT_THAT(event.detail(), HasSubstr("status=1"));
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace muster::controller
