// An engine on a fake node, with a real journal in a folder of the test's own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/mutex.h"
#include "agent/engine/engine.h"
#include "agent/engine/reboot_gate.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/facts.pb.h"
#include "tests/fakes/fake_machine.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {

inline constexpr char kTestNode[] = "6a1f0d0e-0000-4000-8000-000000000001";

// Builds plans: MakePlan(1, {Role("munge", {File("munge/a", "/a", "1")})}).
v1::Step File(const std::string& id, const std::string& path, const std::string& content,
              std::vector<std::string> notify = {});
v1::Step Package(const std::string& id, std::vector<std::string> names,
                 std::vector<std::string> notify = {});
v1::Step Command(const std::string& id, const std::string& name);
v1::RolePlan Role(const std::string& name, std::vector<v1::Step> steps,
                  std::vector<std::string> needs = {}, std::vector<v1::Step> handlers = {});
v1::Plan MakePlan(uint64_t sequence, std::vector<v1::RolePlan> roles);

class RecordingListener final : public EngineListener {
 public:
  void OnReportsReady() override {}
  void OnProgress(const v1::StepProgress& progress) override {
    absl::MutexLock lock(&mutex_);
    progress_.push_back(progress);
  }
  void OnNote(absl::string_view note) override {}
  std::vector<v1::StepProgress> progress() const {
    absl::MutexLock lock(&mutex_);
    return progress_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<v1::StepProgress> progress_;
};

// A controller that allows every reboot, unless it is told otherwise.
class FakeRebootGate final : public RebootGate {
 public:
  absl::StatusOr<v1::RebootPermit> Ask(const std::string& plan_id, const std::string& step_id,
                                       const std::string& reason,
                                       const std::function<bool()>& stopping) override;
  size_t questions() const {
    absl::MutexLock lock(&mutex_);
    return asked.size();
  }

  // Set before the plan runs, read after it.
  absl::Status refusal;
  bool never_answers = false;
  bool same_permit = false;  // as the previous one
  std::function<void()> before_answer;
  std::string boot_id;               // that the permits are for
  std::vector<std::string> asked;    // step ids
  std::vector<std::string> reasons;  // of the questions

 private:
  mutable absl::Mutex mutex_;
  int permits_ = 0;
};

class EngineTest : public ::testing::Test {
 protected:
  // Opens the journal and starts the engine; calling it again is a restart of the agent.
  void Start();
  // Like kill -9, except that running steps end.
  void Shutdown();
  // Submits and waits for the plan's end.
  v1::PlanOutcome Run(const v1::Plan& plan);
  // Waits until the plan has ended.
  v1::PlanOutcome AwaitEnd(const std::string& plan_id);
  // The results in the journal by step id; from the last Run().
  std::map<std::string, v1::StepResult> Results(const std::string& plan_id);
  v1::StepStatus StatusOf(const v1::Plan& plan, const std::string& step_id) {
    return Results(plan.plan_id())[step_id].status();
  }

  muster::testing::TempDir dir_;
  RealClock clock_;
  FakeMachine node_;
  RecordingListener listener_;
  // The arguments of on_plans, as ids; read while the engine is quiet.
  std::vector<std::vector<std::string>> told_;
  FakeRebootGate gate_;
  std::string boot_id_ = "boot-1";
  std::function<v1::Facts()> look_;         // what reboots compare
  std::function<void(v1::Facts)> on_back_;  // told what is there after one
  absl::Duration return_patience_ = absl::Milliseconds(100);
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace muster::agent
