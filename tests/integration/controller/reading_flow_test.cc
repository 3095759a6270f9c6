// What an agent measures, as people get it over the wire.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "common/base/proto_time.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/reading.grpc.pb.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr char kReadingUuid[] = "22222222-2222-4222-8222-222222222222";

class ReadingFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    StoreNode("c001", kReadingUuid);
    StoreInventory(
        "cluster: lab\nracks: {r1: {power_limit_watts: 6000, nodes: c001}}\n"
        "nodes: {\"c[001-017]\": {role: compute}}\n",
        /*revision=*/2);
    Start();
  }
  grpc::Status Get(const std::string& nodes, bool history, v1::GetReadingsResponse& response) {
    const auto stub =
        v1::ReadingService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "vera")));
    v1::GetReadingsRequest request;
    request.set_nodes(nodes);
    request.set_history(history);
    grpc::ClientContext context;
    return stub->GetReadings(&context, request, &response);
  }
};

TEST_F(ReadingFlowTest, NodeMeasuresWhenSomebodyAsks) {
  v1::GetReadingsResponse before;
  ASSERT_TRUE(Get("", false, before).ok());
  ASSERT_THAT(before.nodes(), SizeIs(17));
  EXPECT_EQ(before.nodes(0).node(), "c001");
  EXPECT_FALSE(before.nodes(0).connected());
  EXPECT_EQ(ToDuration(before.interval()), absl::Seconds(2));

  const auto agents = v1::AgentSessionService::NewStub(
      Connect(controller_->port(), Issue(Role::kNode, kReadingUuid)));
  grpc::ClientContext context;
  const auto stream = agents->Connect(&context);
  v1::AgentMessage hello;
  hello.mutable_hello()->set_boot_id("b");
  hello.mutable_hello()->set_agent_version("0.1.0");
  stream->Write(hello);
  std::thread agent([&stream] {
    v1::ControllerMessage order;
    while (stream->Read(&order)) {
      if (!order.has_watch_readings()) continue;
      v1::AgentMessage message;
      v1::NodeReadings& readings = *message.mutable_readings();
      readings.set_cpu_busy_ratio(0.25F);
      readings.set_gpu_trouble("\x1b[31mhangs");
      readings.add_gpus()->set_power_watts(231);
      stream->Write(message);
    }
  });
  v1::GetReadingsResponse after;
  for (int i = 0; i < 500 && !after.nodes_size(); ++i) {
    v1::GetReadingsResponse now;
    ASSERT_TRUE(Get("c001", true, now).ok());
    if (now.nodes(0).has_readings()) after = now;
    absl::SleepFor(absl::Milliseconds(20));
  }
  context.TryCancel();
  agent.join();
  ASSERT_THAT(after.nodes(), SizeIs(1));
  EXPECT_TRUE(after.nodes(0).connected());
  EXPECT_EQ(after.nodes(0).rack(), "r1");
  EXPECT_FLOAT_EQ(after.nodes(0).readings().gpus(0).power_watts(), 231);
  EXPECT_EQ(after.nodes(0).readings().gpu_trouble(), "hangs");
  EXPECT_THAT(after.nodes(0).history(), SizeIs(1));
  ASSERT_THAT(after.racks(), SizeIs(1));
  EXPECT_EQ(after.racks(0).power_limit_watts(), 6000);
}

TEST_F(ReadingFlowTest, HistoryIsOfFewNodes) {
  v1::GetReadingsResponse response;
  EXPECT_EQ(Get("all", true, response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Get("all,!c017", true, response).ok());
  EXPECT_FALSE(Get("c099", false, response).ok());
}

}  // namespace
}  // namespace muster::controller
