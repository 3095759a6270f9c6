// RunService over a real connection of the loopback interface.
#include "controller/service/run_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "controller/run/run_manager.h"
#include "controller/session/open_calls.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/people_over_tls.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;

class RunServiceTest : public RunFixture {
 protected:
  void SetUp() override {
    RunFixture::SetUp();
    sessions_.Connect("ua");
    manager_ = std::make_unique<RunManager>(Collaborators());
    ASSERT_OK(manager_->Start());
    service_ = std::make_unique<RunService>(*manager_, *store_, "lab", calls_);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", people_.Server(), &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::RunService::NewStub(people_.As("alice", Role::kAdmin, port));
  }
  void TearDown() override {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    manager_->Stop();
  }
  std::string StartRun() {
    v1::CreateRunRequest request;
    request.set_bundle_sha256("site");
    request.set_playbook("one.yaml");
    request.set_limit("a");
    const absl::StatusOr<v1::Run> run = manager_->Create(request, {{"admin:alice", ""}});
    EXPECT_OK(run);
    v1::FactsReport facts;
    facts.set_request_id(run->run_id() + "/0");
    manager_->OnFacts("ua", facts);
    return run->run_id();
  }
  void Say(const std::string& run_id, uint64_t sequence, bool last) {
    v1::Report report;
    report.set_plan_id(run_id + "/0");
    report.set_report_sequence(sequence);
    if (last) {
      report.mutable_outcome()->set_succeeded(true);
    } else {
      report.mutable_step()->set_step_id(absl::StrCat("s", sequence));
      report.mutable_step()->set_status(v1::STEP_STATUS_OK);
    }
    manager_->OnReports("ua", InOneMessage(report));
  }

  muster::testing::PeopleOverTls people_;
  OpenCalls calls_{people_.denylist(), people_.clock()};
  std::unique_ptr<RunManager> manager_;
  std::unique_ptr<RunService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::RunService::Stub> stub_;
};

TEST_F(RunServiceTest, WatcherSeesEveryEventAndTheEnd) {
  const std::string run_id = StartRun();
  grpc::ClientContext context;
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  auto reader = stub_->WatchRun(&context, request);
  v1::RunEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.play_started().name(), "only");
  for (uint64_t i = 1; i <= 50; ++i) Say(run_id, i, i == 50);
  int steps = 0;
  uint64_t last = event.sequence();
  while (reader->Read(&event)) {
    EXPECT_GT(event.sequence(), last);
    last = event.sequence();
    if (event.has_step()) ++steps;
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(steps, 49);
  EXPECT_EQ(event.run_finished().state(), v1::RUN_STATE_SUCCEEDED);
  request.set_changes_only(true);
  grpc::ClientContext again;
  reader = stub_->WatchRun(&again, request);
  std::vector<v1::RunEvent::EventCase> changes;
  while (reader->Read(&event)) changes.push_back(event.event_case());
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_THAT(changes,
              ::testing::ElementsAre(v1::RunEvent::kPlayStarted, v1::RunEvent::kNodeFinished,
                                     v1::RunEvent::kRunFinished));

  v1::GetRunRequest get;
  get.set_run_id(run_id);
  v1::GetRunResponse got;
  grpc::ClientContext second;
  ASSERT_TRUE(stub_->GetRun(&second, get, &got).ok());
  EXPECT_EQ(got.run().nodes(0).ok(), 49u);
  v1::ListStepResultsRequest list;
  list.set_run_id(run_id);
  v1::ListStepResultsResponse results;
  grpc::ClientContext third;
  ASSERT_TRUE(stub_->ListStepResults(&third, list, &results).ok());
  EXPECT_EQ(results.results_size(), 49);
  EXPECT_EQ(results.next_after_sequence(), 0u);
  list.set_failed_only(true);
  grpc::ClientContext fourth;
  ASSERT_TRUE(stub_->ListStepResults(&fourth, list, &results).ok());
  EXPECT_EQ(results.results_size(), 0);
}

TEST_F(RunServiceTest, ManyResultsComeInPages) {
  const std::string run_id = StartRun();
  const std::string output(20'000, 'x');
  constexpr uint64_t kSteps = 250;
  for (uint64_t i = 1; i <= kSteps; ++i) {
    v1::Report report;
    report.set_plan_id(run_id + "/0");
    report.set_report_sequence(i);
    report.mutable_step()->set_step_id(absl::StrCat("s", i));
    report.mutable_step()->set_status(v1::STEP_STATUS_OK);
    report.mutable_step()->set_output(output);
    manager_->OnReports("ua", InOneMessage(report));
  }
  Say(run_id, kSteps + 1, /*last=*/true);
  {
    grpc::ClientContext context;
    v1::WatchRunRequest watch;
    watch.set_run_id(run_id);
    auto reader = stub_->WatchRun(&context, watch);
    v1::RunEvent event;
    while (reader->Read(&event)) {
    }
    ASSERT_TRUE(reader->Finish().ok());
  }
  v1::ListStepResultsRequest list;
  list.set_run_id(run_id);
  std::set<std::string> seen;
  int pages = 0;
  do {
    grpc::ClientContext context;
    v1::ListStepResultsResponse page;
    ASSERT_TRUE(stub_->ListStepResults(&context, list, &page).ok());
    for (const v1::NodeStepResult& result : page.results()) {
      EXPECT_TRUE(seen.insert(result.result().step_id()).second);
    }
    list.set_after_sequence(page.next_after_sequence());
    ++pages;
  } while (list.after_sequence() > 0);
  EXPECT_EQ(seen.size(), kSteps);
  EXPECT_GT(pages, 1);
}

TEST_F(RunServiceTest, WatcherMayLeaveAndTheRunGoesOn) {
  const std::string run_id = StartRun();
  {
    grpc::ClientContext context;
    v1::WatchRunRequest request;
    request.set_run_id(run_id);
    auto reader = stub_->WatchRun(&context, request);
    v1::RunEvent event;
    ASSERT_TRUE(reader->Read(&event));
    context.TryCancel();
    while (reader->Read(&event)) {
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  Say(run_id, 1, true);
  grpc::ClientContext context;
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  auto reader = stub_->WatchRun(&context, request);
  v1::RunEvent event;
  while (reader->Read(&event)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(event.has_run_finished());
}

TEST_F(RunServiceTest, UnknownRunsAreRefused) {
  grpc::ClientContext context;
  v1::WatchRunRequest watch;
  watch.set_run_id("r-none");
  auto reader = stub_->WatchRun(&context, watch);
  v1::RunEvent event;
  EXPECT_FALSE(reader->Read(&event));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), Said());
}

}  // namespace
}  // namespace muster::controller
