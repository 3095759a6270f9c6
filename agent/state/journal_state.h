// The state that the journal's records add up to. Pure: no files, no threads, no clock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "muster/v1/journal.pb.h"

namespace muster::agent {

// An unfinished plan.
struct ActivePlan {
  std::shared_ptr<const v1::Plan> plan;
  std::map<std::string, v1::StepStatus> outcomes;  // by step id
  std::map<std::string, v1::StepIntent> cut_off;   // intents without an outcome, by step id
  std::map<std::string, v1::RebootArmed> armed;    // reboots without an outcome, by step id
  bool cancel_requested = false;
};

class JournalState {
 public:
  // The last finished plans that are still known by their id.
  static constexpr size_t kFinishedKept = 32;

  // Takes in the next record. Unknown kinds and records about unknown plans are ignored.
  void Apply(const v1::JournalRecord& record);

  // Records that give this state again, and nothing that it does not need: finished plans are not
  // among them.
  std::vector<v1::JournalRecord> Snapshot() const;

  std::string node_uuid;
  uint64_t highest_plan_sequence = 0;
  uint64_t next_report_sequence = 1;
  std::set<std::string> dirty_handlers;
  std::map<uint64_t, ActivePlan> active;  // by plan sequence
  std::deque<v1::Report> unacknowledged;  // rising report_sequence
  std::deque<v1::PlanFinished> finished;  // oldest first, at most kFinishedKept
  // Finished plans in the records: a compaction would drop them.
  size_t finished_since_snapshot = 0;

  // nullptr: no such plan is active.
  ActivePlan* FindActive(const std::string& plan_id);
  const ActivePlan* FindActive(const std::string& plan_id) const;
  const v1::PlanFinished* FindFinished(const std::string& plan_id) const;

 private:
  void ApplySnapshot(const v1::JournalSnapshot& snapshot);
  void ApplyOutcome(const v1::StepOutcome& outcome);
  void ApplyFinished(const v1::PlanFinished& finished);
  void AddReport(const v1::Report& report);
};

}  // namespace muster::agent
