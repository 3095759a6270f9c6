// A run in progress, in memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "controller/playbook/compiler.h"
#include "controller/run/plan/held_plan.h"
#include "controller/run/run_events.h"
#include "controller/run/run_state.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {

// A worker that is kept out of Slurm for its reboot: from its first question that could be answered
// with a permit until it has finished its play or left the run.
struct RebootDrain {
  absl::Time since;        // when the hold was stored
  std::string request_id;  // the question that waits for Slurm; empty: none has since the restart
  absl::Time begun = absl::InfinitePast();  // when that was asked first
  absl::Time asked = absl::InfinitePast();  // and last; not while the node has its permit
};

struct ActiveRun {
  ActiveRun(RunRecord record_in, RunState state_in, uint64_t last_sequence)
      : record(std::move(record_in)),
        state(std::move(state_in)),
        log(std::make_shared<RunFeed>(kRunRetention, last_sequence)) {}

  RunRecord record;
  bool record_changed = false;  // to be stored with the next transition
  v1::CreateRunRequest request;
  CompileOptions options;
  std::shared_ptr<const Playbook> playbook;
  std::shared_ptr<const Inventory> inventory;
  std::shared_ptr<const HeldPlan> held;  // nullptr: the run follows the playbook
  std::vector<PlaybookEnding> endings;   // empty: there are none, or they are left out
  RunState state;
  std::map<std::string, NodeLink>
      links;  // as its play began, for the question that follows in the same Perform()
  // Nodes whose answer to another run's question the play waits for: that plan's id, by uuid.
  std::map<std::string, std::string> awaited_answers;
  RunActions pending;  // not yet carried out, because the store could not save what led to them
  std::shared_ptr<RunFeed> log;
  // The current play's plans by node, each until its node has finished it: serialized, which takes
  // a tenth of the memory of the objects.
  absl::flat_hash_map<std::string, std::shared_ptr<const std::string>> plans;
  // Permits to reboot that have not ended, by node, and for each node that was refused, its last
  // request.
  std::map<std::string, RebootRecord> reboots;
  std::map<std::string, std::string> refused_reboots;
  std::map<std::string, RebootDrain> drains;  // by node
  // The number of each node's requests to reboot, not counting repetitions.
  std::map<std::string, int> reboot_questions;
};

}  // namespace muster::controller
