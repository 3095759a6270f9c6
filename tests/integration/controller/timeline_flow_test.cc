// What an agent and people did, as the time line shows it over the wire, across a restart.
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/match.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/health.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/timeline.grpc.pb.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kTimelineUuid[] = "11111111-1111-4111-8111-111111111111";

class TimelineFlowTest : public ControllerFixture {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>;

  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    StoreNode("c001", kTimelineUuid);
    Start();
  }

  // A session of the node's agent, which reports one condition, if it has a name, and leaves when
  // the controller has taken it.
  void Visit(const std::string& boot_id, const std::string& bad) {
    const auto agents = v1::AgentSessionService::NewStub(
        Connect(controller_->port(), Issue(Role::kNode, kTimelineUuid)));
    grpc::ClientContext context;
    const std::unique_ptr<Stream> stream = agents->Connect(&context);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id(boot_id);
    hello.mutable_hello()->set_agent_version("0.1.0");
    stream->Write(hello);
    v1::AgentMessage message;
    v1::HealthReport& report = *message.mutable_health();
    report.add_watched("nic_down");
    if (!bad.empty()) {
      v1::Condition& condition = *report.add_conditions();
      condition.set_name(bad);
      condition.set_status(v1::CONDITION_STATUS_BAD);
      condition.set_severity(v1::CONDITION_SEVERITY_WARNING);
      condition.set_evidence("eth1\x1b[31m\nhas no link");
    }
    stream->Write(message);
    AwaitReport(bad);
    context.TryCancel();
    stream->Finish();
  }
  void AwaitReport(const std::string& bad) {
    const auto health =
        v1::HealthService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "vera")));
    for (int i = 0; i < 500; ++i) {
      grpc::ClientContext context;
      v1::ListHealthRequest request;
      request.set_nodes("c001");
      v1::ListHealthResponse listed;
      health->ListHealth(&context, request, &listed);
      if (listed.nodes_size() == 1 && listed.nodes(0).connected() &&
          listed.nodes(0).has_reported_at() &&
          std::any_of(listed.nodes(0).conditions().begin(), listed.nodes(0).conditions().end(),
                      [&](const auto& view) {
                        return view.condition().status() == v1::CONDITION_STATUS_BAD;
                      }) == !bad.empty())
        return;
      absl::SleepFor(absl::Milliseconds(20));
    }
    FAIL() << "the report did not arrive";
  }
  void Drain(const std::string& reason) {
    const auto nodes =
        v1::NodeService::NewStub(Connect(controller_->port(), Issue(Role::kOperator, "ann")));
    v1::DrainNodesRequest request;
    request.set_nodes("c001");
    request.set_reason(reason);
    v1::DrainNodesResponse response;
    grpc::ClientContext context;
    const grpc::Status status = nodes->DrainNodes(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  std::unique_ptr<v1::TimelineService::Stub> As(Role role) {
    return v1::TimelineService::NewStub(Connect(controller_->port(), Issue(role, "vera")));
  }
  v1::ListTimelineResponse List(const v1::ListTimelineRequest& request = {}) {
    v1::ListTimelineResponse response;
    grpc::ClientContext context;
    const grpc::Status status = As(Role::kViewer)->ListTimeline(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  static std::vector<std::string> Kinds(const v1::ListTimelineResponse& response) {
    std::vector<std::string> kinds;
    for (const v1::TimelineEvent& event : response.events()) kinds.push_back(event.kind());
    return kinds;
  }
  // Events after the place, until there are `count`, or the stream ends.
  std::vector<v1::TimelineEvent> Watch(const v1::TimelinePosition& after, size_t count) {
    v1::WatchTimelineRequest request;
    *request.mutable_after() = after;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const auto stub = As(Role::kViewer);
    const auto reader = stub->WatchTimeline(&context, request);
    std::vector<v1::TimelineEvent> events;
    v1::TimelineEvent event;
    while (events.size() < count && reader->Read(&event)) events.push_back(event);
    context.TryCancel();
    reader->Finish();
    return events;
  }
};

TEST_F(TimelineFlowTest, WhatHappenedIsOneLineForViewers) {
  Visit("b1", "nic_down");
  Drain("fans \x1b[31mare exchanged");
  const v1::ListTimelineResponse all = List();
  EXPECT_THAT(Kinds(all), ElementsAre("node.drain", "condition.bad"));
  EXPECT_EQ(all.events(0).actor(), "operator:ann");
  EXPECT_EQ(all.events(0).nodes(), "c001");
  EXPECT_EQ(all.events(0).text(), "fans are exchanged");
  EXPECT_EQ(all.events(1).text(), "eth1 has no link");
  EXPECT_THAT(all.ShortDebugString(), Not(HasSubstr("127.0.0.1"))) << "an address";
  EXPECT_FALSE(all.has_next());
  v1::ListTimelineRequest others;
  others.mutable_filter()->set_nodes("c[002-003]");
  EXPECT_THAT(List(others).events(), IsEmpty());
}

TEST_F(TimelineFlowTest, AWatchGoesOnAfterARestart) {
  const v1::TimelinePosition place = List().newest();
  Visit("b1", "nic_down");
  Drain("first");
  const std::vector<v1::TimelineEvent> before = Watch(place, 2);
  ASSERT_EQ(before.size(), 2u);
  controller_.reset();
  Start();
  // The machine was booted while the controller was away.
  Visit("b2", "");
  Drain("second");
  const std::vector<v1::TimelineEvent> after = Watch(before.back().position(), 3);
  std::vector<std::string> kinds;
  for (const v1::TimelineEvent& event : after) kinds.push_back(event.kind());
  EXPECT_THAT(kinds, ElementsAre("node.rebooted", "condition.good", "node.drain"));
  EXPECT_EQ(after.back().text(), "second");
  EXPECT_EQ(List().events_size(), 5);
}

TEST_F(TimelineFlowTest, AWrongFilterIsRefused) {
  v1::ListTimelineRequest request;
  request.mutable_filter()->add_kinds("node.losst");
  v1::ListTimelineResponse response;
  grpc::ClientContext context;
  const grpc::Status listed = As(Role::kViewer)->ListTimeline(&context, request, &response);
  EXPECT_EQ(listed.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(listed.error_message(), HasSubstr("did you mean 'node.lost'"));
  v1::WatchTimelineRequest watch;
  watch.mutable_filter()->set_nodes("c[3-1]");
  grpc::ClientContext other;
  const auto stub = As(Role::kViewer);
  const auto reader = stub->WatchTimeline(&other, watch);
  v1::TimelineEvent event;
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(reader->Finish().error_code(), grpc::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace muster::controller
