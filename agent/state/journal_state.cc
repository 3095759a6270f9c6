#include "agent/state/journal_state.h"

#include <algorithm>

namespace muster::agent {

void JournalState::Apply(const v1::JournalRecord& record) {
  switch (record.record_case()) {
    case v1::JournalRecord::kSnapshot:
      ApplySnapshot(record.snapshot());
      break;
    case v1::JournalRecord::kPlanAccepted: {
      const v1::Plan& plan = record.plan_accepted().plan();
      active[plan.sequence()] = {.plan = std::make_shared<v1::Plan>(plan)};
      highest_plan_sequence = std::max<uint64_t>(highest_plan_sequence, plan.sequence());
      break;
    }
    case v1::JournalRecord::kStepIntent: {
      const v1::StepIntent& intent = record.step_intent();
      for (const std::string& handler : intent.dirty_handlers()) dirty_handlers.insert(handler);
      if (ActivePlan* plan = FindActive(intent.plan_id())) {
        plan->cut_off[intent.step_id()] = intent;
      }
      break;
    }
    case v1::JournalRecord::kStepOutcome:
      ApplyOutcome(record.step_outcome());
      break;
    case v1::JournalRecord::kPlanFinished:
      ApplyFinished(record.plan_finished());
      break;
    case v1::JournalRecord::kPlanCancelRequested:
      if (ActivePlan* plan = FindActive(record.plan_cancel_requested().plan_id())) {
        plan->cancel_requested = true;
      }
      break;
    case v1::JournalRecord::kReportsStored:
      while (!unacknowledged.empty() &&
             unacknowledged.front().report_sequence() <= record.reports_stored().up_to_sequence()) {
        unacknowledged.pop_front();
      }
      break;
    case v1::JournalRecord::kRebootArmed:
      if (ActivePlan* plan = FindActive(record.reboot_armed().plan_id())) {
        plan->armed[record.reboot_armed().step_id()] = record.reboot_armed();
      }
      break;
    case v1::JournalRecord::RECORD_NOT_SET:
      break;
  }
}

void JournalState::ApplySnapshot(const v1::JournalSnapshot& snapshot) {
  *this = JournalState();
  node_uuid = snapshot.node_uuid();
  highest_plan_sequence = snapshot.highest_plan_sequence();
  next_report_sequence = std::max<uint64_t>(1, snapshot.next_report_sequence());
  dirty_handlers.insert(snapshot.dirty_handlers().begin(), snapshot.dirty_handlers().end());
  finished.assign(snapshot.finished().begin(), snapshot.finished().end());
}

void JournalState::ApplyOutcome(const v1::StepOutcome& outcome) {
  AddReport(outcome.report());
  if (!outcome.clean_handler().empty()) dirty_handlers.erase(outcome.clean_handler());
  if (!outcome.report().has_step()) return;
  if (ActivePlan* plan = FindActive(outcome.report().plan_id())) {
    const v1::StepResult& step = outcome.report().step();
    plan->outcomes[step.step_id()] = step.status();
    plan->cut_off.erase(step.step_id());
    plan->armed.erase(step.step_id());
  }
}

void JournalState::ApplyFinished(const v1::PlanFinished& record) {
  AddReport(record.report());
  const std::string& id = record.report().plan_id();
  for (auto it = active.begin(); it != active.end();) {
    it = it->second.plan->plan_id() == id ? active.erase(it) : std::next(it);
  }
  finished.push_back(record);
  while (finished.size() > kFinishedKept) finished.pop_front();
  ++finished_since_snapshot;
}

void JournalState::AddReport(const v1::Report& report) {
  if (report.report_sequence() == 0) return;
  unacknowledged.push_back(report);
  next_report_sequence = std::max<uint64_t>(next_report_sequence, report.report_sequence() + 1);
}

std::vector<v1::JournalRecord> JournalState::Snapshot() const {
  std::vector<v1::JournalRecord> records(1);
  v1::JournalSnapshot& snapshot = *records[0].mutable_snapshot();
  snapshot.set_node_uuid(node_uuid);
  snapshot.set_highest_plan_sequence(highest_plan_sequence);
  snapshot.set_next_report_sequence(next_report_sequence);
  for (const std::string& handler : dirty_handlers) snapshot.add_dirty_handlers(handler);
  for (const v1::PlanFinished& plan : finished) *snapshot.add_finished() = plan;
  for (const auto& [sequence, plan] : active) {
    *records.emplace_back().mutable_plan_accepted()->mutable_plan() = *plan.plan;
    for (const auto& [step_id, status] : plan.outcomes) {
      v1::Report& report = *records.emplace_back().mutable_step_outcome()->mutable_report();
      report.set_plan_id(plan.plan->plan_id());
      report.mutable_step()->set_step_id(step_id);
      report.mutable_step()->set_status(status);
    }
    for (const auto& [step_id, intent] : plan.cut_off) {
      *records.emplace_back().mutable_step_intent() = intent;
    }
    for (const auto& [step_id, armed] : plan.armed) {
      *records.emplace_back().mutable_reboot_armed() = armed;
    }
    if (plan.cancel_requested) {
      records.emplace_back().mutable_plan_cancel_requested()->set_plan_id(plan.plan->plan_id());
    }
  }
  // Reports come last. Those of a step only repeat its outcome; the snapshot already knows those of
  // an ended plan, which must not end it twice, so all are written as outcomes of steps.
  for (const v1::Report& report : unacknowledged) {
    *records.emplace_back().mutable_step_outcome()->mutable_report() = report;
  }
  return records;
}

ActivePlan* JournalState::FindActive(const std::string& plan_id) {
  for (auto& [sequence, plan] : active) {
    if (plan.plan->plan_id() == plan_id) return &plan;
  }
  return nullptr;
}

const ActivePlan* JournalState::FindActive(const std::string& plan_id) const {
  return const_cast<JournalState*>(this)->FindActive(plan_id);
}

const v1::PlanFinished* JournalState::FindFinished(const std::string& plan_id) const {
  for (const v1::PlanFinished& plan : finished) {
    if (plan.report().plan_id() == plan_id) return &plan;
  }
  return nullptr;
}

}  // namespace muster::agent
