// Runs whose plans hold a reboot.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "tests/fakes/failing_store.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {

// A run over a and b whose plans hold a reboot; both nodes have their plan and run it.
class RunRebootsFixture : public RunFixture {
 protected:
  void SetUp() override {
    RunFixture::SetUp();
    compiler_.reboot.emplace();
    Connect("a", "", "boot-1");
    Connect("b", "", "boot-1");
  }
  void StartRun(bool with_jobs = false) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256("site");
    request.set_playbook("one.yaml");
    request.set_reboot_with_jobs(with_jobs);
    const absl::StatusOr<v1::Run> run = engine_->Create(request, {{"admin:alice", ""}});
    ASSERT_OK(run);
    run_id_ = run->run_id();
    plan_id_ = run_id_ + "/0";
    AnswerFacts(run_id_, 0);
    for (const char* name : {"a", "b"}) {
      MustTakePlan(name);
      ReportStep(name, plan_id_, v1::STEP_STATUS_OK);
    }
    Forget();
  }
  muster::testing::FailingStore& UseFailingStore() {
    auto failing = std::make_unique<muster::testing::FailingStore>(std::move(store_));
    muster::testing::FailingStore& store = *failing;
    store_ = std::move(failing);
    Restart();
    Connect("a", "", "boot-1");
    Connect("b", "", "boot-1");
    return store;
  }
  void Forget() {
    for (const char* uuid : {"ua", "ub", "uc"}) sessions_.Take(uuid);
  }
  v1::RebootRequest Question(const std::string& request_id = "q1") {
    v1::RebootRequest request;
    request.set_plan_id(plan_id_);
    request.set_step_id("role/reboot");
    request.set_boot_id("boot-1");
    request.set_reason("kernel 2 is installed but 1 is running");
    request.set_request_id(request_id);
    return request;
  }
  // Drops everything that was sent to the node except answers.
  std::vector<v1::RebootAnswer> AskAll(const v1::RebootRequest& request,
                                       const std::string& uuid = "ua") {
    sessions_.Take(uuid);
    engine_->OnRebootRequest(uuid, request);
    std::vector<v1::RebootAnswer> answers;
    for (const v1::ControllerMessage& message : sessions_.Take(uuid)) {
      if (message.has_reboot_answer()) answers.push_back(message.reboot_answer());
    }
    return answers;
  }
  v1::RebootAnswer Ask(const v1::RebootRequest& request, const std::string& uuid = "ua") {
    const std::vector<v1::RebootAnswer> answers = AskAll(request, uuid);
    EXPECT_THAT(answers, ::testing::SizeIs(1));
    return answers.empty() ? v1::RebootAnswer() : answers[0];
  }
  v1::RebootPermit MustPermit(const v1::RebootRequest& request) {
    const v1::RebootAnswer answer = Ask(request);
    EXPECT_TRUE(answer.has_permit()) << answer.refusal();
    return answer.permit();
  }
  std::vector<RebootRecord> Open() {
    std::vector<RebootRecord> open;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(open, txn.reboots().ListOpen(run_id_));
      return absl::OkStatus();
    }));
    return open;
  }
  std::string PhaseOf(const std::string& name) {
    const std::string state = StateOf(run_id_, name);
    return state.substr(0, state.find(' '));
  }
  v1::RunState StateOfRun() { return Run(run_id_).state(); }
  void RestartController() {
    for (const char* uuid : {"ua", "ub"}) sessions_.Cut(uuid);
    Restart();
    Forget();
  }

  std::string run_id_, plan_id_;
};

}  // namespace muster::controller
