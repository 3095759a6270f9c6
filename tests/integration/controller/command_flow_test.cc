// `muster exec` from a person's call to an agent's stream and back, over the wire.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/command.grpc.pb.h"
#include "muster/v1/event.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr char kUuid[] = "11111111-1111-4111-8111-111111111111";

// The stream of c001's agent, which answers every command with its arguments, except "sleep".
class EchoingAgent {
 public:
  EchoingAgent(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::AgentSessionService::NewStub(channel)), stream_(stub_->Connect(&context_)) {
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("b1");
    hello.mutable_hello()->set_agent_version("0.1.0");
    stream_->Write(hello);
    v1::ControllerMessage welcome;
    EXPECT_TRUE(stream_->Read(&welcome) && welcome.has_welcome());
    thread_ = std::thread([this] { Listen(); });
  }
  ~EchoingAgent() {
    context_.TryCancel();
    thread_.join();
  }
  // Whether the command that does not end by itself was started, or stopped, within ten seconds.
  bool AwaitStart(const std::string& id) { return Await(&EchoingAgent::started_, id); }
  bool AwaitStop(const std::string& id) { return Await(&EchoingAgent::stopped_, id); }

 private:
  bool Await(std::string EchoingAgent::*heard, const std::string& id) {
    absl::MutexLock lock(&mutex_);
    const auto is_heard = [&] { return this->*heard == id; };
    return mutex_.AwaitWithTimeout(absl::Condition(&is_heard), absl::Seconds(10));
  }
  void Listen() {
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      if (message.has_stop_command()) {
        absl::MutexLock lock(&mutex_);
        stopped_ = message.stop_command().command_id();
      }
      if (!message.has_start_command()) continue;
      if (message.start_command().argv(0) == "sleep") {
        absl::MutexLock lock(&mutex_);
        started_ = message.start_command().command_id();
        continue;
      }
      v1::AgentMessage answer;
      v1::CommandResult& result = *answer.mutable_command_result();
      result.set_command_id(message.start_command().command_id());
      result.mutable_end()->set_outcome(v1::COMMAND_OUTCOME_EXITED);
      result.mutable_end()->set_exit_status(3);
      for (const std::string& argument : message.start_command().argv())
        absl::StrAppend(result.mutable_end()->mutable_output(), argument, "\n");
      stream_->Write(answer);
    }
    stream_->Finish();
  }

  grpc::ClientContext context_;
  std::unique_ptr<v1::AgentSessionService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream_;
  std::thread thread_;
  absl::Mutex mutex_;
  std::string started_ ABSL_GUARDED_BY(mutex_);
  std::string stopped_ ABSL_GUARDED_BY(mutex_);
};

class CommandFlowTest : public ControllerFixture {
 protected:
  void RestartWith(const std::string& exec) {
    controller_.reset();
    config_.exec = exec;
    NodeRecord node;
    node.uuid = kUuid;
    node.name = "c001";
    node.state = NodeRecord::kEnrolled;
    std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
    ASSERT_OK(store->Update([&](Transaction& txn) { return txn.nodes().Put(node); }));
    store.reset();  // only one process may hold it
    Start();
  }
  std::unique_ptr<v1::CommandService::Stub> As(Role role) {
    return v1::CommandService::NewStub(Connect(controller_->port(), Issue(role, "ann")));
  }
  static v1::RunCommandRequest Request(const std::string& nodes, std::vector<std::string> argv) {
    v1::RunCommandRequest request;
    request.set_nodes(nodes);
    request.mutable_argv()->Assign(argv.begin(), argv.end());
    return request;
  }
  grpc::Status Run(Role role, const v1::RunCommandRequest& request,
                   std::vector<v1::RunCommandResponse>* events = nullptr) {
    grpc::ClientContext context;
    const auto stub = As(role);
    const auto stream = stub->RunCommand(&context, request);
    v1::RunCommandResponse event;
    while (stream->Read(&event)) {
      if (events != nullptr) events->push_back(event);
    }
    return stream->Finish();
  }
  std::vector<std::string> Audited() {
    v1::ListEventsResponse response;
    grpc::ClientContext context;
    const auto stub =
        v1::EventService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "ann")));
    EXPECT_TRUE(stub->ListEvents(&context, {}, &response).ok());
    std::vector<std::string> actions;
    for (const v1::Event& event : response.events()) {
      if (absl::StartsWith(event.action(), "exec.")) actions.push_back(event.action());
    }
    return actions;
  }
};

TEST_F(CommandFlowTest, OffUnlessTheSettingSaysOtherwise) {
  const grpc::Status status = Run(Role::kAdmin, Request("c001", {"uptime"}));
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), Said());
}

TEST_F(CommandFlowTest, ForAdministratorsAlone) {
  RestartWith("on");
  for (const Role role : {Role::kViewer, Role::kOperator}) {
    EXPECT_EQ(Run(role, Request("c001", {"uptime"})).error_code(), grpc::PERMISSION_DENIED);
  }
  EXPECT_THAT(Audited(), SizeIs(0));
}

TEST_F(CommandFlowTest, RunsOnWhatIsConnectedAndNamesTheRest) {
  RestartWith("on");
  EchoingAgent agent(Connect(controller_->port(), Issue(Role::kNode, kUuid)));
  std::vector<v1::RunCommandResponse> events;
  const grpc::Status status = Run(Role::kAdmin, Request("c[001-002]", {"echo", "a b"}), &events);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_THAT(events[0].begun().nodes(), ElementsAre("c001", "c002"));
  EXPECT_EQ(events[1].node_ended().node(), "c002");
  EXPECT_EQ(events[1].node_ended().end().outcome(), v1::COMMAND_OUTCOME_NOT_CONNECTED);
  EXPECT_EQ(events[2].node_ended().node(), "c001");
  EXPECT_EQ(events[2].node_ended().end().exit_status(), 3u);
  EXPECT_EQ(events[2].node_ended().end().output(), "echo\na b\n");
  EXPECT_THAT(events[3].done().output_sha256(), SizeIs(64));
  EXPECT_THAT(Audited(), ElementsAre("exec.end", "exec.start"));
}

TEST_F(CommandFlowTest, ACallerThatLeavesEndsItOnTheNode) {
  RestartWith("on");
  EchoingAgent agent(Connect(controller_->port(), Issue(Role::kNode, kUuid)));
  grpc::ClientContext context;
  const auto stub = As(Role::kAdmin);
  const auto stream = stub->RunCommand(&context, Request("c001", {"sleep", "100"}));
  v1::RunCommandResponse begun;
  ASSERT_TRUE(stream->Read(&begun));
  // The answer comes before the agents are told; a command that was never started needs no stop.
  ASSERT_TRUE(agent.AwaitStart(begun.begun().command_id()));
  context.TryCancel();
  EXPECT_TRUE(agent.AwaitStop(begun.begun().command_id()));
  stream->Finish();
}

TEST_F(CommandFlowTest, RefusesWhatIsBeyondTheLimits) {
  RestartWith("on");
  v1::RunCommandRequest late = Request("c001", {"uptime"});
  late.mutable_time_limit()->set_seconds(3601);
  v1::RunCommandRequest wide = Request("c001", {"uptime"});
  wide.set_at_once(257);
  for (const v1::RunCommandRequest& request :
       {Request("", {"uptime"}), Request("c001", {}), Request("c001", {""}),
        Request("c001", {std::string("a\0b", 3)}), Request("c001", {std::string(17 << 10, 'a')}),
        Request("c001", std::vector<std::string>(257, "a")), Request("c099", {"uptime"}), late,
        wide}) {
    EXPECT_EQ(Run(Role::kAdmin, request).error_code(), grpc::INVALID_ARGUMENT)
        << request.ShortDebugString().substr(0, 100);
  }
  EXPECT_THAT(Audited(), SizeIs(0));
}

}  // namespace
}  // namespace muster::controller
