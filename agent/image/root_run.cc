#include "agent/image/root_run.h"

#include <memory>
#include <optional>

#include "agent/engine/plan_rules.h"
#include "agent/engine/plan_run.h"
#include "agent/image/root_plan.h"
#include "agent/state/journal.h"
#include "common/base/status.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::agent {
namespace {

constexpr size_t kReportsAtOnce = 100;

// Takes the results out of the journal as they become durable.
class Results {
 public:
  Results(Journal& journal, const RootRun& run, v1::ImageApplyReport& report)
      : journal_(journal), run_(run), report_(report) {}

  void Take() {
    while (true) {
      const std::vector<v1::Report> reports = journal_.ReportsAfter(last_, kReportsAtOnce);
      if (reports.empty()) return;
      for (const v1::Report& report : reports) {
        last_ = report.report_sequence();
        if (!report.has_step()) continue;
        *report_.add_results() = report.step();
        if (run_.on_result) run_.on_result(report.step());
      }
    }
  }

 private:
  Journal& journal_;
  const RootRun& run_;
  v1::ImageApplyReport& report_;
  uint64_t last_ = 0;
};

absl::StatusOr<v1::PlanOutcome> RunJournaled(const v1::Plan& plan, const RootRun& run, Clock& clock,
                                             v1::ImageApplyReport& report) {
  RETURN_IF_ERROR(CheckPlan(plan, plan.node_uuid(), /*highest_sequence=*/0, clock.Now()));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Journal> journal,
      Journal::Open({.directory = run.journal_directory, .node_uuid = plan.node_uuid()}, clock));
  RETURN_IF_ERROR(journal->AcceptPlan(PlanForRoot(plan)));
  const std::optional<ActivePlan> active = journal->NextPlan();
  if (!active.has_value()) return absl::InternalError("the journal has lost the plan");

  Results results(*journal, run, report);
  absl::Mutex packages;
  ProgressBoard progress(*active->plan, /*steps_done=*/0, [](const v1::StepProgress&) {});
  const RebootOptions reboots;  // no step asks for one: their kinds are left out
  PlanContext context(*active, *journal, clock, run.factory, packages, progress, reboots,
                      run.stopping, [](absl::string_view note) {});
  const auto on_tick = [&] {
    (void)run.stopping();
    // An error occurs again at the next record.
    if (journal->Sync().ok()) results.Take();
  };
  // One role after the other: packages take the next free ids in the order in which they come, and
  // the same plan is to make the same root.
  ASSIGN_OR_RETURN(std::optional<v1::PlanOutcome> outcome,
                   RunPlan(context, {.max_parallel_roles = 1}, on_tick));
  if (!outcome.has_value()) {
    results.Take();
    return absl::CancelledError("stopped by a signal; the root is incomplete");
  }
  RETURN_IF_ERROR(journal->FinishPlan(plan.plan_id(), *outcome));
  results.Take();
  return *std::move(outcome);
}

}  // namespace

v1::ImageApplyReport RunInRoot(const v1::Plan& plan, const RootRun& run, Clock& clock) {
  v1::ImageApplyReport report;
  absl::StatusOr<v1::PlanOutcome> outcome = RunJournaled(plan, run, clock, report);
  if (outcome.ok()) {
    *report.mutable_outcome() = *std::move(outcome);
  } else {
    report.mutable_outcome()->set_message(std::string(outcome.status().message()));
    report.mutable_outcome()->set_cancelled(absl::IsCancelled(outcome.status()));
  }
  return report;
}

}  // namespace muster::agent
