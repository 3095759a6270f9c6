#include "tests/unit/agent/engine/engine_fixture.h"

#include "absl/strings/str_cat.h"

namespace muster::agent {

v1::Step File(const std::string& id, const std::string& path, const std::string& content,
              std::vector<std::string> notify) {
  v1::Step step;
  step.set_step_id(id);
  step.set_name(id);
  step.mutable_file()->set_path(path);
  step.mutable_file()->set_content(content);
  for (const std::string& handler : notify) step.add_notify(handler);
  return step;
}

v1::Step Package(const std::string& id, std::vector<std::string> names,
                 std::vector<std::string> notify) {
  v1::Step step;
  step.set_step_id(id);
  step.set_name(id);
  for (const std::string& name : names) step.mutable_package()->add_names(name);
  for (const std::string& handler : notify) step.add_notify(handler);
  return step;
}

v1::Step Command(const std::string& id, const std::string& name) {
  v1::Step step;
  step.set_step_id(id);
  step.set_name(id);
  step.mutable_command()->add_argv(name);
  step.mutable_command()->set_always(true);
  return step;
}

v1::RolePlan Role(const std::string& name, std::vector<v1::Step> steps,
                  std::vector<std::string> needs, std::vector<v1::Step> handlers) {
  v1::RolePlan role;
  role.set_name(name);
  for (v1::Step& step : steps) *role.add_steps() = std::move(step);
  for (const std::string& need : needs) role.add_needs(need);
  for (v1::Step& handler : handlers) *role.add_handlers() = std::move(handler);
  return role;
}

v1::Plan MakePlan(uint64_t sequence, std::vector<v1::RolePlan> roles) {
  v1::Plan plan;
  plan.set_plan_id(absl::StrCat("r-", sequence, "/0"));
  plan.set_sequence(sequence);
  plan.set_node_uuid(kTestNode);
  plan.set_node_name("c001");
  for (v1::RolePlan& role : roles) *plan.add_roles() = std::move(role);
  return plan;
}

absl::StatusOr<v1::RebootPermit> FakeRebootGate::Ask(const std::string& plan_id,
                                                     const std::string& step_id,
                                                     const std::string& reason,
                                                     const std::function<bool()>& stopping) {
  {
    absl::MutexLock lock(&mutex_);
    asked.push_back(step_id);
    reasons.push_back(reason);
  }
  while (never_answers) {
    if (stopping()) return absl::CancelledError("stopping");
    absl::SleepFor(absl::Milliseconds(5));
  }
  if (before_answer) before_answer();
  if (!refusal.ok()) return refusal;
  if (!same_permit) ++permits_;
  v1::RebootPermit permit;
  permit.set_permit_id(absl::StrCat("p", permits_));
  permit.set_node_uuid(kTestNode);
  permit.set_boot_id(boot_id);
  permit.mutable_expires_at()->set_seconds(absl::ToUnixSeconds(absl::Now()) + 60);
  return permit;
}

void EngineTest::Start() {
  Shutdown();
  auto journal = Journal::Open(
      {.directory = dir_.path(),
       .node_uuid = kTestNode,
       .failpoint =
           [this] { return node_.Deed() ? absl::OkStatus() : absl::UnavailableError("no power"); }},
      clock_);
  ASSERT_OK(journal);
  journal_ = *std::move(journal);
  Engine::Options options;
  options.node_uuid = kTestNode;
  options.reboots = {.boot_id = boot_id_,
                     .gate = &gate_,
                     .look = look_,
                     .on_back = on_back_,
                     .return_patience = return_patience_,
                     .return_pause = absl::Milliseconds(5)};
  gate_.boot_id = boot_id_;
  node_.boot_id = boot_id_;
  options.run.tick = absl::Milliseconds(20);
  options.on_plans = [this](const std::vector<std::shared_ptr<const v1::Plan>>& plans) {
    std::vector<std::string>& ids = told_.emplace_back();
    for (const auto& plan : plans) ids.push_back(plan->plan_id());
  };
  engine_ = std::make_unique<Engine>(
      options, [this](const v1::Step& step, bool want_diff) { return node_.Make(step); }, *journal_,
      clock_, listener_);
  engine_->Start();
}

void EngineTest::Shutdown() {
  engine_.reset();
  journal_.reset();
}

v1::PlanOutcome EngineTest::AwaitEnd(const std::string& plan_id) {
  for (int i = 0; i < 12'000; ++i) {
    if (const auto report = journal_->FindFinished(plan_id)) return report->outcome();
    clock_.Sleep(absl::Milliseconds(5));
  }
  ADD_FAILURE() << "plan " << plan_id << " did not end";
  return v1::PlanOutcome();
}

v1::PlanOutcome EngineTest::Run(const v1::Plan& plan) {
  if (engine_ == nullptr) Start();
  const v1::PlanReceipt receipt = engine_->Submit(plan);
  EXPECT_TRUE(receipt.accepted()) << receipt.reason();
  if (!receipt.accepted()) return v1::PlanOutcome();
  return AwaitEnd(plan.plan_id());
}

std::map<std::string, v1::StepResult> EngineTest::Results(const std::string& plan_id) {
  std::map<std::string, v1::StepResult> results;
  for (const v1::Report& report : journal_->ReportsAfter(0, 10000)) {
    if (report.plan_id() != plan_id || !report.has_step()) continue;
    EXPECT_EQ(results.count(report.step().step_id()), 0u) << "reported twice";
    results[report.step().step_id()] = report.step();
  }
  return results;
}

}  // namespace muster::agent
