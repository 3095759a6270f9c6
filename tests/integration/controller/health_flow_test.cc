// From an agent's report to what people see and may do about it, over the wire.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/store/health_tables.h"
#include "controller/store/soci/store.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/health.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/rollout.grpc.pb.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kHealthUuid[] = "11111111-1111-4111-8111-111111111111";

class HealthFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    StoreNode("c001", kHealthUuid);
    StoreInventory(
        "cluster: test\nnodes:\n  c[001-003]: {role: compute}\n"
        "health: {all: {disabled: [nic_errors], conditions: {disk_full: reboot_once_then_drain, "
        "scratch_quota: quarantine}, site_conditions: {scratch_quota: {argv: [/bin/true]}}}}\n",
        2);
    Start();
    agents_ = v1::AgentSessionService::NewStub(
        Connect(controller_->port(), Issue(Role::kNode, kHealthUuid)));
  }
  void TearDown() override {
    context_.TryCancel();
    if (stream_ != nullptr) stream_->Finish();
    ControllerFixture::TearDown();
  }

  void Join() {
    stream_ = agents_->Connect(&context_);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("b1");
    hello.mutable_hello()->set_agent_version("0.1.0");
    stream_->Write(hello);
  }
  // What the agent watches, and one condition, if it has a name.
  void Report(const std::string& bad, const std::string& evidence = "") {
    v1::AgentMessage message;
    v1::HealthReport& report = *message.mutable_health();
    report.add_watched("gpu_lost");
    report.add_watched("disk_full");
    if (!bad.empty()) {
      v1::Condition& condition = *report.add_conditions();
      condition.set_name(bad);
      condition.set_object("GPU-1");
      condition.set_status(v1::CONDITION_STATUS_BAD);
      condition.set_severity(v1::CONDITION_SEVERITY_FATAL);
      condition.set_evidence(evidence);
    }
    stream_->Write(message);
  }
  std::unique_ptr<v1::HealthService::Stub> As(Role role) {
    return v1::HealthService::NewStub(Connect(controller_->port(), Issue(role, "ann")));
  }
  v1::ListHealthResponse List(const std::string& nodes = "") {
    v1::ListHealthRequest request;
    request.set_nodes(nodes);
    v1::ListHealthResponse response;
    grpc::ClientContext context;
    const grpc::Status status = As(Role::kViewer)->ListHealth(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  // The node's health once `is_there` holds for it, or ten seconds have passed.
  template <typename IsThere>
  v1::NodeHealth Await(IsThere is_there) {
    v1::NodeHealth health;
    for (int i = 0; i < 500; ++i) {
      const v1::ListHealthResponse listed = List("c001");
      if (listed.nodes_size() == 1) health = listed.nodes(0);
      if (is_there(health)) break;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return health;
  }
  grpc::Status Silence(Role role, const std::string& condition, v1::Silence* silence) {
    v1::CreateSilenceRequest request;
    request.set_nodes("c[001-002]");
    request.set_condition(condition);
    request.set_reason("fans");
    *request.mutable_length() = ToProtoDuration(absl::Hours(1));
    v1::CreateSilenceResponse response;
    grpc::ClientContext context;
    const grpc::Status status = As(role)->CreateSilence(&context, request, &response);
    *silence = response.silence();
    return status;
  }

  std::unique_ptr<v1::AgentSessionService::Stub> agents_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream_;
};

TEST_F(HealthFlowTest, AReportIsSeenHeldAndExplained) {
  EXPECT_EQ(List().unknown(), 1u) << "a member without a report; c002 and c003 have not joined";
  Join();
  v1::ControllerMessage message;
  while (stream_->Read(&message) && !message.has_health_settings()) {
  }
  EXPECT_THAT(message.health_settings().disabled(), ElementsAre("nic_errors"));
  // A terminal must not do what a node says.
  Report("gpu_lost", "Xid 79\x1b[31m\nfallen off");
  const v1::NodeHealth health =
      Await([](const v1::NodeHealth& node) { return node.conditions_size() > 0; });
  EXPECT_EQ(health.status(), v1::CONDITION_STATUS_BAD);
  ASSERT_THAT(health.conditions(), SizeIs(1));
  EXPECT_EQ(health.conditions(0).condition().evidence(), "Xid 79 fallen off");
  EXPECT_EQ(health.conditions(0).action(), v1::HEALTH_ACTION_DRAIN);
  EXPECT_EQ(health.conditions(0).response(), v1::HEALTH_RESPONSE_DRAINED);
  EXPECT_THAT(health.conditions(0).next(), HasSubstr("repair the node"));

  v1::GetStatusResponse status;
  grpc::ClientContext context;
  const auto nodes =
      v1::NodeService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "vera")));
  ASSERT_TRUE(nodes->GetStatus(&context, {}, &status).ok());
  ASSERT_THAT(status.health(), SizeIs(1));
  EXPECT_EQ(status.health(0).nodes(), "c001");
  EXPECT_EQ(status.health(0).condition(), "gpu_lost");

  v1::ListConditionHistoryRequest asked;
  asked.set_nodes("c001");
  v1::ListConditionHistoryResponse history;
  grpc::ClientContext other;
  ASSERT_TRUE(As(Role::kViewer)->ListConditionHistory(&other, asked, &history).ok());
  ASSERT_THAT(history.events(), SizeIs(1));
  EXPECT_EQ(history.events(0).condition().status(), v1::CONDITION_STATUS_BAD);

  Report("");
  EXPECT_EQ(Await([](const v1::NodeHealth& node) {
              return node.conditions_size() > 0 &&
                     node.conditions(0).response() == v1::HEALTH_RESPONSE_RECOVERING;
            }).status(),
            v1::CONDITION_STATUS_OK);
}

TEST_F(HealthFlowTest, TheHistoryOfManyNodesIsTheNewestOfAll) {
  controller_.reset();
  {
    const std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
    ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
      for (int i = 0; i < 30; ++i) {
        v1::Condition condition;
        condition.set_name(absl::StrCat("e", i));
        HealthEventRecord event;
        event.time = absl::Now();
        event.node_uuid = kHealthUuid;
        event.node = absl::StrCat("c00", i / 10 + 1);
        event.condition = condition.name();
        event.event = condition.SerializeAsString();
        RETURN_IF_ERROR(txn.health().AppendEvent(event));
      }
      return absl::OkStatus();
    }));
  }
  Start();
  v1::ListConditionHistoryRequest asked;
  asked.set_limit(3);
  for (const char* nodes : {"c[001-003]", "c003,c002,c001"}) {
    SCOPED_TRACE(nodes);
    asked.set_nodes(nodes);
    v1::ListConditionHistoryResponse history;
    grpc::ClientContext context;
    ASSERT_TRUE(As(Role::kViewer)->ListConditionHistory(&context, asked, &history).ok());
    std::vector<std::string> names;
    for (const v1::ConditionEvent& event : history.events())
      names.push_back(event.condition().name());
    EXPECT_THAT(names, ElementsAre("e29", "e28", "e27"));
  }
}

TEST_F(HealthFlowTest, OperatorsSilence) {
  v1::Silence silence;
  EXPECT_EQ(Silence(Role::kViewer, "gpu_lost", &silence).error_code(), grpc::PERMISSION_DENIED);
  const grpc::Status unknown = Silence(Role::kOperator, "gpu_lots", &silence);
  EXPECT_EQ(unknown.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(unknown.error_message(), HasSubstr("did you mean 'gpu_lost'"));
  ASSERT_TRUE(Silence(Role::kOperator, "gpu_lost", &silence).ok());
  EXPECT_EQ(silence.nodes(), "c[001-002]");
  EXPECT_EQ(silence.created_by(), "operator:ann");
  Join();
  Report("gpu_lost", "Xid 79");
  const v1::NodeHealth health =
      Await([](const v1::NodeHealth& node) { return node.conditions_size() > 0; });
  EXPECT_EQ(health.conditions(0).response(), v1::HEALTH_RESPONSE_SILENCED);
  EXPECT_EQ(health.conditions(0).silence_id(), silence.silence_id());
  EXPECT_THAT(health.conditions(0).next(), HasSubstr("operator:ann"));

  v1::DeleteSilenceRequest request;
  request.set_silence_id(silence.silence_id());
  v1::DeleteSilenceResponse deleted;
  for (const grpc::StatusCode expected : {grpc::OK, grpc::NOT_FOUND}) {
    grpc::ClientContext context;
    EXPECT_EQ(As(Role::kOperator)->DeleteSilence(&context, request, &deleted).error_code(),
              expected);
  }
  v1::ListSilencesResponse listed;
  grpc::ClientContext context;
  ASSERT_TRUE(As(Role::kViewer)->ListSilences(&context, {}, &listed).ok());
  EXPECT_THAT(listed.silences(), IsEmpty());
  Await([](const v1::NodeHealth& node) {
    return node.conditions_size() > 0 &&
           node.conditions(0).response() == v1::HEALTH_RESPONSE_DRAINED;
  });
}

TEST_F(HealthFlowTest, OperatorsClearWhatOutlastsItsCause) {
  v1::ClearConditionRequest request;
  request.set_nodes("c[001-002]");
  request.set_condition("gpu_xid");
  request.set_object("GPU-1");
  v1::ClearConditionResponse response;
  const auto clear = [&](Role role) {
    grpc::ClientContext context;
    return As(role)->ClearCondition(&context, request, &response);
  };
  EXPECT_EQ(clear(Role::kOperator).error_code(), grpc::INVALID_ARGUMENT) << "no reason";
  request.set_reason("reset by nvidia-smi -r");
  EXPECT_EQ(clear(Role::kViewer).error_code(), grpc::PERMISSION_DENIED);
  ASSERT_TRUE(clear(Role::kOperator).ok());
  EXPECT_EQ(response.cleared() + response.away(), "") << "no node has it";
  Join();
  Report("gpu_xid", "Xid 79");
  Await([](const v1::NodeHealth& node) { return node.conditions_size() > 0; });
  request.set_object("GPU-2");
  ASSERT_TRUE(clear(Role::kOperator).ok());
  EXPECT_EQ(response.cleared(), "") << "another GPU has it";
  request.set_object("GPU-1");
  ASSERT_TRUE(clear(Role::kOperator).ok());
  EXPECT_EQ(response.cleared(), "c001");
  EXPECT_EQ(response.away(), "");
  v1::ControllerMessage message;
  while (stream_->Read(&message) && !message.has_clear_health()) {
  }
  EXPECT_EQ(message.clear_health().condition(), "gpu_xid");
  EXPECT_EQ(message.clear_health().object(), "GPU-1");
  v1::ListEventsResponse audited;
  grpc::ClientContext listing;
  ASSERT_TRUE(v1::EventService::NewStub(Connect(controller_->port(), Issue(Role::kOperator, "ann")))
                  ->ListEvents(&listing, {}, &audited)
                  .ok());
  std::vector<std::string> cleared;
  for (const v1::Event& event : audited.events()) {
    if (event.action() == "health.clear")
      cleared.push_back(absl::StrCat(event.actor(), " ", event.subject(), ": ", event.detail()));
  }
  EXPECT_THAT(cleared, ElementsAre("operator:ann c001: gpu_xid GPU-1: reset by nvidia-smi -r"));
  context_.TryCancel();
  Await([](const v1::NodeHealth& node) { return !node.connected(); });
  ASSERT_TRUE(clear(Role::kOperator).ok());
  EXPECT_EQ(response.cleared(), "");
  EXPECT_EQ(response.away(), "c001");
  request.set_condition("disk_full");
  EXPECT_EQ(clear(Role::kOperator).error_code(), grpc::FAILED_PRECONDITION) << "it ends by itself";
  request.set_condition("gpu_xdi");
  EXPECT_EQ(clear(Role::kOperator).error_code(), grpc::INVALID_ARGUMENT);
}

// The controller's own rollout, with a bundle that nobody has uploaded.
TEST_F(HealthFlowTest, ARebootIsARolloutOfTheControllers) {
  Join();
  Report("disk_full", "full");
  const v1::NodeHealth health = Await([](const v1::NodeHealth& node) {
    return node.conditions_size() > 0 && absl::StrContains(node.conditions(0).next(), "u-");
  });
  ASSERT_THAT(health.conditions(), SizeIs(1));
  EXPECT_EQ(health.conditions(0).response(), v1::HEALTH_RESPONSE_REBOOTING)
      << health.conditions(0).next();
  const auto rollouts =
      v1::RolloutService::NewStub(Connect(controller_->port(), Issue(Role::kOperator, "ann")));
  v1::ListRolloutsResponse listed;
  grpc::ClientContext context;
  ASSERT_TRUE(rollouts->ListRollouts(&context, {}, &listed).ok());
  ASSERT_THAT(listed.rollouts(), SizeIs(1));
  const v1::Rollout& rollout = listed.rollouts(0);
  EXPECT_EQ(rollout.created_by(), "controller");
  EXPECT_EQ(rollout.request().limit(), "c001");
  EXPECT_THAT(health.conditions(0).next(), HasSubstr(rollout.rollout_id()));
}

TEST_F(HealthFlowTest, AQuarantineIsAdministratorsToEnd) {
  Join();
  Report("scratch_quota", "42 of 40 TB");
  const v1::NodeHealth health =
      Await([](const v1::NodeHealth& node) { return node.conditions_size() > 0; });
  EXPECT_EQ(health.conditions(0).response(), v1::HEALTH_RESPONSE_QUARANTINED);
  v1::ResumeNodesRequest request;
  request.set_nodes("c001");
  for (const auto& [role, code] : {std::pair(Role::kOperator, grpc::PERMISSION_DENIED),
                                   std::pair(Role::kAdmin, grpc::FAILED_PRECONDITION)}) {
    grpc::ClientContext context;
    v1::ResumeNodesResponse response;
    const grpc::Status status =
        v1::NodeService::NewStub(Connect(controller_->port(), Issue(role, "ann")))
            ->ResumeNodes(&context, request, &response);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("quarantined for scratch_quota"));
  }
}

// More conditions than a node has parts, or names that are none: no agent says so.
TEST_F(HealthFlowTest, AReportBeyondMeasureCutsOff) {
  v1::AgentMessage messages[3];
  for (int i = 0; i < 257; ++i) messages[0].mutable_health()->add_conditions()->set_name("a");
  messages[1].mutable_health()->add_conditions()->set_name("a b; rm -rf /");
  messages[2].mutable_health()->add_watched(std::string(100, 'x'));
  for (const v1::AgentMessage& message : messages) {
    grpc::ClientContext context;
    const auto stream = agents_->Connect(&context);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("b1");
    hello.mutable_hello()->set_agent_version("0.1.0");
    stream->Write(hello);
    stream->Write(message);
    v1::ControllerMessage ignored;
    while (stream->Read(&ignored)) {
    }
    EXPECT_EQ(stream->Finish().error_code(), grpc::INVALID_ARGUMENT);
  }
}

}  // namespace
}  // namespace muster::controller
