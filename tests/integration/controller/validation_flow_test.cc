// A validation over the wire: an operator starts it, an agent carries it out, viewers watch.
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/archive/archive.h"
#include "controller/artifact/blob_store.h"
#include "controller/validation/verdict/result_blob.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/artifact.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/validation.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::SizeIs;

constexpr char kUuid[] = "6a1f0d0e-0000-4000-8000-000000000001";

// An agent that the test controls by hand.
class HandAgent {
 public:
  HandAgent(std::shared_ptr<grpc::Channel> channel, const std::vector<std::string>& check_ids)
      : stub_(v1::AgentSessionService::NewStub(channel)), stream_(stub_->Connect(&context_)) {
    v1::AgentMessage message;
    message.mutable_hello()->set_boot_id("boot");
    for (const std::string& id : check_ids) message.mutable_hello()->add_check_ids(id);
    stream_->Write(message);
    SendFacts("");
    // On a busy machine a test takes longer than the controller waits for a silent agent.
    heart_ = std::thread([this] {
      v1::AgentMessage beat;
      beat.mutable_heartbeat()->set_uptime_s(1);
      while (!ending_) {
        Write(beat);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
      }
    });
  }
  ~HandAgent() {
    ending_ = true;
    heart_.join();
    context_.TryCancel();
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
    }
    stream_->Finish();
  }

  // The next message about checks. Until then it reports its facts when asked, and completes plans.
  // A check that was started is not told again: the start comes twice when the controller takes
  // note of the connection after it has sent the first.
  v1::ControllerMessage Next() {
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      if (message.has_gather_facts()) SendFacts(message.gather_facts().request_id());
      if (message.has_plan()) EndPlan(message.plan().plan_id());
      if (message.has_start_check() && !started_.insert(message.start_check().check_id()).second)
        continue;
      if (message.has_start_check() || message.has_stop_check() ||
          message.has_check_report_stored()) {
        return message;
      }
    }
    ADD_FAILURE() << "the stream ended";
    return {};
  }
  // Reports its facts when it is asked the next time.
  void AnswerWhatItIs() {
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      if (message.has_gather_facts()) return SendFacts(message.gather_facts().request_id());
    }
    ADD_FAILURE() << "the stream ended";
  }
  // Completes the next plan, and does not answer any question afterwards.
  void ComeThroughPlan() {
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      if (message.has_gather_facts()) SendFacts(message.gather_facts().request_id());
      if (message.has_plan()) return EndPlan(message.plan().plan_id());
    }
    ADD_FAILURE() << "the stream ended";
  }
  // Waits until it is asked for Slurm's jobs, and answers that this one runs on c001, or none if it
  // is "". False: a check began without that question.
  bool AnswerOfJobs(const std::string& job) {
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      if (message.has_start_check()) return false;
      if (!message.slurm_request().has_list_jobs()) continue;
      v1::AgentMessage answer;
      answer.mutable_slurm_answer()->set_request_id(message.slurm_request().request_id());
      v1::SlurmJobs& jobs = *answer.mutable_slurm_answer()->mutable_jobs();
      if (!job.empty()) {
        v1::SlurmNodeJobs& node = *jobs.add_nodes();
        node.set_node("c001");
        v1::SlurmJobInfo& info = *node.add_jobs();
        info.set_id(job);
        info.set_user("eve");
        info.set_name("train");
      }
      Write(answer);
      return true;
    }
    return false;
  }
  void Report(const std::string& check_id, const v1::CheckResult& result) {
    v1::AgentMessage message;
    message.mutable_check_report()->set_check_id(check_id);
    *message.mutable_check_report()->mutable_result() = result;
    Write(message);
  }
  void Update(const std::string& check_id, const std::string& phase) {
    v1::AgentMessage message;
    message.mutable_check_update()->set_check_id(check_id);
    message.mutable_check_update()->mutable_progress()->set_phase(phase);
    Write(message);
  }

 private:
  void SendFacts(const std::string& request_id) {
    v1::AgentMessage message;
    message.mutable_facts()->set_request_id(request_id);
    message.mutable_facts()->mutable_facts()->mutable_os()->set_kernel("6.1.0");
    Write(message);
  }
  void EndPlan(const std::string& plan_id) {
    v1::AgentMessage receipt;
    receipt.mutable_plan_receipt()->set_plan_id(plan_id);
    receipt.mutable_plan_receipt()->set_accepted(true);
    Write(receipt);
    v1::AgentMessage end;
    v1::Report& report = *end.mutable_reports()->add_reports();
    report.set_report_sequence(1);
    report.set_plan_id(plan_id);
    report.mutable_outcome()->set_succeeded(true);
    Write(end);
  }
  void Write(const v1::AgentMessage& message) {
    absl::MutexLock lock(&mutex_);
    stream_->Write(message);
  }

  grpc::ClientContext context_;
  std::unique_ptr<v1::AgentSessionService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream_;
  absl::Mutex mutex_;
  std::atomic<bool> ending_ = false;
  std::thread heart_;
  std::set<std::string> started_;  // checks
};

class ValidationFlowTest : public ControllerFixture {
 protected:
  // Its id; "" when it was refused.
  std::string StartRun(v1::RunService::Stub& runs) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle_);
    request.set_playbook("playbooks/site.yaml");
    v1::CreateRunResponse created;
    grpc::ClientContext context;
    const grpc::Status status = runs.CreateRun(&context, request, &created);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return created.run().run_id();
  }

  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    {
      const std::unique_ptr<Store> store =
          OpenStore(config_.state_directory + "/muster.db").value();
      ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
        NodeRecord node;
        node.uuid = kUuid;
        node.name = "c001";
        node.state = NodeRecord::kConfigured;
        return txn.nodes().Put(node);
      }));
    }
    const std::string bundle =
        sys::PackTarGz({{"playbooks/site.yaml",
                         "- {play: p, hosts: c001, tasks: [{name: a, hostname: {name: c001}}]}\n"
                         "- {play: pass, hosts: c001, validate: count}\n"},
                        {"playbooks/suites/count.yaml",
                         "name: count\ndescription: what is there\nadmits: true\nstages:\n"
                         "  - {name: first, checks: [{check: gpu-inventory, time_limit: 60s}]}\n"}})
            .value();
    bundle_ = DiskBlobStore::Open(config_.state_directory + "/blobs").value()->Put(bundle).value();
    {
      const std::unique_ptr<Store> store =
          OpenStore(config_.state_directory + "/muster.db").value();
      ASSERT_OK(store->Update([&](Transaction& txn) {
        return txn.bundles().Put({bundle_, bundle.size(), absl::Now(), "admin:alice"});
      }));
    }
    Start();
    config_.listen = absl::StrCat("127.0.0.1:", controller_->port());
  }

  std::shared_ptr<grpc::Channel> As(Role role, const std::string& name) {
    return Connect(controller_->port(), Issue(role, name));
  }
  bool IsConnected() {
    grpc::ClientContext context;
    v1::ListNodesResponse nodes;
    EXPECT_TRUE(v1::NodeService::NewStub(As(Role::kViewer, "eve"))
                    ->ListNodes(&context, v1::ListNodesRequest(), &nodes)
                    .ok());
    return nodes.nodes_size() > 0 && nodes.nodes(0).connected();
  }
  grpc::Status Create(Role role, v1::CreateValidationResponse* response, bool force = false) {
    grpc::ClientContext context;
    v1::CreateValidationRequest request;
    request.set_bundle_sha256(bundle_);
    request.set_suite("count");
    request.set_nodes("c001");
    request.set_force(force);
    return v1::ValidationService::NewStub(As(role, "alice"))
        ->CreateValidation(&context, request, response);
  }

  void Approve() {
    grpc::ClientContext context;
    v1::ApproveBundleRequest request;
    request.set_bundle(bundle_);
    v1::ApproveBundleResponse response;
    const grpc::Status status = v1::ArtifactService::NewStub(As(Role::kAdmin, "alice"))
                                    ->ApproveBundle(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  v1::Validation WatchToTheEnd(const std::string& id) {
    grpc::ClientContext context;
    v1::WatchValidationRequest watch;
    watch.set_validation_id(id);
    const auto stub = v1::ValidationService::NewStub(As(Role::kViewer, "eve"));
    const auto events = stub->WatchValidation(&context, watch);
    v1::ValidationEvent event;
    while (events->Read(&event) && !event.has_finished()) {
    }
    EXPECT_TRUE(events->Finish().ok());
    return event.finished();
  }

  std::string bundle_;
};

v1::CheckResult NoGpus() {
  v1::CheckResult result;
  result.set_check("gpu-inventory");
  result.set_outcome(v1::OUTCOME_SKIPPED);
  result.set_reason("no GPUs");
  result.add_samples()->set_value(1);
  return result;
}

TEST_F(ValidationFlowTest, FromTheOperatorToTheNodeAndBack) {
  HandAgent agent(As(Role::kNode, kUuid), {});
  v1::CreateValidationResponse created;
  EXPECT_EQ(Create(Role::kViewer, &created).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  Approve();
  const grpc::Status status = Create(Role::kOperator, &created);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const std::string id = created.validation().validation_id();
  EXPECT_EQ(created.validation().created_by(), "operator:alice");

  // A watcher sees progress, verdicts and the end.
  const auto viewer = v1::ValidationService::NewStub(As(Role::kViewer, "eve"));
  grpc::ClientContext watching;
  v1::WatchValidationRequest watch;
  watch.set_validation_id(id);
  const auto events = viewer->WatchValidation(&watching, watch);

  const v1::StartCheck start = agent.Next().start_check();
  EXPECT_EQ(start.check(), "gpu-inventory");
  v1::ValidationEvent event;
  {
    // Progress may be lost, also because the watcher was not there yet.
    std::atomic<bool> seen = false;
    std::thread progress([&] {
      while (!seen) {
        agent.Update(start.check_id(), "counting");
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
    ASSERT_TRUE(events->Read(&event));
    seen = true;
    progress.join();
  }
  EXPECT_EQ(event.running().progress().phase(), "counting");
  agent.Report(start.check_id(), NoGpus());
  EXPECT_EQ(agent.Next().check_report_stored().check_id(), start.check_id());
  do {
    ASSERT_TRUE(events->Read(&event));
  } while (event.has_running());
  EXPECT_EQ(event.verdict().outcome(), v1::OUTCOME_SKIPPED);
  ASSERT_TRUE(events->Read(&event));
  EXPECT_EQ(event.finished().state(), v1::VALIDATION_STATE_DONE);
  EXPECT_FALSE(events->Read(&event));
  EXPECT_TRUE(events->Finish().ok());

  {
    grpc::ClientContext context;
    v1::GetValidationRequest request;
    request.set_validation_id(id);
    v1::GetValidationResponse response;
    ASSERT_TRUE(viewer->GetValidation(&context, request, &response).ok());
    ASSERT_THAT(response.validation().nodes(), SizeIs(1));
    EXPECT_EQ(response.validation().nodes(0).checks(0).reason(), "no GPUs");
  }
  {
    grpc::ClientContext context;
    v1::ListValidationsRequest request;
    request.set_node("c001");
    v1::ListValidationsResponse response;
    ASSERT_TRUE(viewer->ListValidations(&context, request, &response).ok());
    ASSERT_THAT(response.validations(), SizeIs(1));
    EXPECT_EQ(response.validations(0).nodes(0).checks_size(), 0);
  }
  for (const bool with_samples : {false, true}) {
    grpc::ClientContext context;
    v1::ListCheckResultsRequest request;
    request.set_validation_id(id);
    request.set_with_samples(with_samples);
    const auto results = viewer->ListCheckResults(&context, request);
    v1::NodeCheckResult result;
    ASSERT_TRUE(results->Read(&result));
    EXPECT_EQ(result.node(), "c001");
    EXPECT_EQ(result.stage(), "first");
    EXPECT_EQ(result.result().samples_size(), with_samples ? 1 : 0);
    EXPECT_FALSE(results->Read(&result));
    EXPECT_TRUE(results->Finish().ok());
  }
}

TEST_F(ValidationFlowTest, ARunOfAPlaybookThatEndsWithASuiteIsFollowedByIt) {
  HandAgent agent(As(Role::kNode, kUuid), {});
  const auto runs = v1::RunService::NewStub(As(Role::kAdmin, "alice"));
  const std::string run_id = StartRun(*runs);
  ASSERT_NE(run_id, "");
  const v1::StartCheck start = agent.Next().start_check();
  EXPECT_EQ(start.check(), "gpu-inventory");
  v1::GetRunRequest get;
  get.set_run_id(run_id);
  v1::GetRunResponse got;
  grpc::ClientContext context;
  ASSERT_TRUE(runs->GetRun(&context, get, &got).ok());
  EXPECT_EQ(got.run().state(), v1::RUN_STATE_SUCCEEDED);
  ASSERT_THAT(got.run().validations(), SizeIs(1));
  const v1::RunValidation& validation = got.run().validations(0);
  EXPECT_EQ(validation.state(), v1::RUN_VALIDATION_STATE_STARTED);
  EXPECT_EQ(validation.suite(), "count");
  EXPECT_EQ(validation.nodes(), "c001");
  EXPECT_THAT(start.check_id(), ::testing::StartsWith(validation.validation_id()));

  // It passes as the hardware that it reports in the end.
  v1::CheckResult result = NoGpus();
  result.set_outcome(v1::OUTCOME_PASS);
  agent.Report(start.check_id(), result);
  EXPECT_EQ(agent.Next().check_report_stored().check_id(), start.check_id());
  agent.AnswerWhatItIs();
  const v1::Validation done = WatchToTheEnd(validation.validation_id());
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  ASSERT_THAT(done.nodes(), SizeIs(1));
  EXPECT_EQ(done.nodes(0).outcome(), v1::OUTCOME_PASS) << done.DebugString();
}

TEST_F(ValidationFlowTest, WhatWaitsAfterARunIsTakenAwayByTheRunsId) {
  auto agent = std::make_unique<HandAgent>(As(Role::kNode, kUuid), std::vector<std::string>());
  const auto runs = v1::RunService::NewStub(As(Role::kAdmin, "alice"));
  const std::string run_id = StartRun(*runs);
  ASSERT_NE(run_id, "");
  const auto get = [&](v1::RunService::Stub& stub) {
    grpc::ClientContext context;
    v1::GetRunRequest get_run;
    get_run.set_run_id(run_id);
    v1::GetRunResponse got;
    EXPECT_TRUE(stub.GetRun(&context, get_run, &got).ok());
    return got.run();
  };
  agent->ComeThroughPlan();
  // The run waits for its facts.
  for (int i = 0; i < 3000 && get(*runs).validations().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  v1::CancelValidationRequest cancel;
  cancel.set_validation_id(run_id);
  v1::CancelValidationResponse response;
  const auto cancel_as = [&](Role role) {
    grpc::ClientContext context;
    return v1::ValidationService::NewStub(As(role, "bob"))
        ->CancelValidation(&context, cancel, &response)
        .error_code();
  };
  EXPECT_EQ(cancel_as(Role::kViewer), grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_EQ(cancel_as(Role::kOperator), grpc::StatusCode::OK);
  EXPECT_EQ(cancel_as(Role::kOperator), grpc::StatusCode::FAILED_PRECONDITION)
      << "it waits no more";
  agent.reset();
  controller_.reset();
  Start();
  const v1::Run run = get(*v1::RunService::NewStub(As(Role::kAdmin, "alice")));
  ASSERT_THAT(run.validations(), SizeIs(1));
  EXPECT_EQ(run.validations(0).state(), v1::RUN_VALIDATION_STATE_NOT_STARTED);
  EXPECT_EQ(run.validations(0).message(), "cancelled by operator:bob");
}

// Without the gate nothing is drained, but nobody's job is disturbed either.
TEST_F(ValidationFlowTest, NodesWithJobsAreRefusedAlsoWithTheGateOff) {
  controller_.reset();
  config_.slurm_gate = "off";
  StoreInventory("cluster: test\nnodes:\n  c001: {role: login}\n", 2);
  Start();
  Approve();
  HandAgent agent(As(Role::kNode, kUuid), {});
  for (int i = 0; i < 3000 && !IsConnected(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  v1::CreateValidationResponse created;
  const auto create = [&](const std::string& job) {
    bool asked = false;
    std::thread answers([&] { asked = agent.AnswerOfJobs(job); });
    const grpc::Status status = Create(Role::kOperator, &created);
    answers.join();
    EXPECT_TRUE(asked);
    return status;
  };
  const grpc::Status refused = create("4711");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), Said());
  const grpc::Status idle = create("");
  ASSERT_TRUE(idle.ok()) << idle.error_message();
  const std::string check_id = agent.Next().start_check().check_id();
  agent.Report(check_id, NoGpus());
  EXPECT_EQ(agent.Next().check_report_stored().check_id(), check_id);
  grpc::Status forced;
  for (int i = 0; i < 600; ++i) {  // until the first one has released the node
    forced = Create(Role::kOperator, &created, /*force=*/true);
    if (forced.ok()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_TRUE(forced.ok()) << forced.error_message();
  EXPECT_TRUE(agent.Next().has_start_check());
}

TEST_F(ValidationFlowTest, SurvivesARestartOfTheControllerWithoutStartingTheCheckAgain) {
  Approve();
  v1::CreateValidationResponse created;
  std::string check_id;
  {
    HandAgent agent(As(Role::kNode, kUuid), {});
    ASSERT_TRUE(Create(Role::kOperator, &created).ok());
    check_id = agent.Next().start_check().check_id();
  }
  controller_.reset();
  Start();
  HandAgent agent(As(Role::kNode, kUuid), {check_id});
  agent.Report(check_id, NoGpus());
  EXPECT_EQ(agent.Next().check_report_stored().check_id(), check_id);
  EXPECT_EQ(WatchToTheEnd(created.validation().validation_id()).state(), v1::VALIDATION_STATE_DONE);
}

// One record of a hundred was damaged on the disk: the others are shown as before.
TEST_F(ValidationFlowTest, ADamagedResultIsToldWithoutTheOthersBeingLost) {
  controller_.reset();
  {
    const std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
    ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
      ValidationRecord validation;
      validation.validation_id = "v-1";
      validation.suite = "count";
      validation.state = ValidationRecord::kDone;
      RETURN_IF_ERROR(txn.validations().Put(validation));
      for (const char* check : {"cpu-stress", "gpu-inventory"}) {
        ValidationCheckRecord record;
        record.check_id = absl::StrCat("v-1/", check);
        record.validation_id = "v-1";
        record.node = "c001";
        record.stage_name = "first";
        record.name = check;
        RETURN_IF_ERROR(txn.validation_checks().Put(record));
      }
      RETURN_IF_ERROR(
          txn.validation_checks().PutResult({"v-1/cpu-stress", absl::Now(), "damaged"}));
      return txn.validation_checks().PutResult(
          {"v-1/gpu-inventory", absl::Now(), validation::PackResult(NoGpus())});
    }));
  }
  Start();
  grpc::ClientContext context;
  v1::ListCheckResultsRequest request;
  request.set_validation_id("v-1");
  const auto stub = v1::ValidationService::NewStub(As(Role::kViewer, "eve"));
  const auto reader = stub->ListCheckResults(&context, request);
  std::map<std::string, v1::NodeCheckResult> results;
  v1::NodeCheckResult result;
  while (reader->Read(&result)) results[result.result().check()] = result;
  EXPECT_TRUE(reader->Finish().ok());
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results["cpu-stress"].node(), "c001");
  EXPECT_EQ(results["cpu-stress"].stage(), "first");
  EXPECT_EQ(results["cpu-stress"].result().outcome(), v1::OUTCOME_UNSPECIFIED);
  EXPECT_EQ(results["gpu-inventory"].result().reason(), "no GPUs");
}

TEST_F(ValidationFlowTest, CancellingStopsTheCheckOnTheNode) {
  Approve();
  HandAgent agent(As(Role::kNode, kUuid), {});
  v1::CreateValidationResponse created;
  ASSERT_TRUE(Create(Role::kOperator, &created).ok());
  const std::string check_id = agent.Next().start_check().check_id();
  v1::CancelValidationRequest request;
  request.set_validation_id(created.validation().validation_id());
  v1::CancelValidationResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(v1::ValidationService::NewStub(As(Role::kOperator, "bob"))
                  ->CancelValidation(&context, request, &response)
                  .ok());
  const v1::StopCheck stop = agent.Next().stop_check();
  EXPECT_EQ(stop.check_id(), check_id);
  EXPECT_THAT(stop.reason(), Said());
}

TEST_F(ValidationFlowTest, AMadeUpCheckIdIsHarmless) {
  HandAgent agent(As(Role::kNode, kUuid), {});
  agent.Update("no/such/check", "x");
  agent.Report("v-x/../../etc", NoGpus());
  EXPECT_EQ(agent.Next().check_report_stored().check_id(), "v-x/../../etc");
}

}  // namespace
}  // namespace muster::controller
