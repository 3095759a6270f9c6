// A run that is going on, in memory.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "controller/playbook/compiler.h"
#include "controller/run/plan/held_plan.h"
#include "controller/run/run_events.h"
#include "controller/run/run_state.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {

struct ActiveRun {
  ActiveRun(RunRecord record_in, RunState state_in, uint64_t last_sequence)
      : record(std::move(record_in)),
        state(std::move(state_in)),
        log(std::make_shared<RunEventLog>(last_sequence)) {}

  RunRecord record;
  bool record_changed = false;  // to be stored with the next transition
  v1::CreateRunRequest request;
  CompileOptions options;
  std::shared_ptr<const Playbook> playbook;
  std::shared_ptr<const Inventory> inventory;
  std::shared_ptr<const HeldPlan> held;  // nullptr: the run follows the playbook
  std::vector<PlaybookEnding> endings;   // empty: none, or they are left out
  RunState state;
  RunActions pending;  // not carried out yet, because the store could not keep what led to them
  std::shared_ptr<RunEventLog> log;
  // The current play's plans by node, until the node is through with it: as they travel, which is
  // a tenth of what they take as objects.
  absl::flat_hash_map<std::string, std::shared_ptr<const std::string>> plans;
  // Permits to reboot that have not ended, by node, and the last question of each node that was
  // refused.
  std::map<std::string, RebootRecord> reboots;
  std::map<std::string, std::string> refused_reboots;
  // Questions of each node about reboots, repetitions not counted.
  std::map<std::string, int> reboot_questions;
};

}  // namespace muster::controller
