#include "controller/rollout/observation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/claim/node_claims.h"
#include "controller/gate/job_gate.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/collaborators.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::rollout {

Observation Observe(const RolloutCollaborators& with, const std::vector<std::string>& jobs_of) {
  std::set<std::string> members;
  const absl::Status read = with.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes) {
      if (node.state != NodeRecord::kRemoved) members.insert(node.uuid);
    }
    return absl::OkStatus();
  });
  Observation seen{validation::LookAtSlurm(with.slurm, with.clock, jobs_of), std::move(members)};
  if (seen.has_slurm && !read.ok()) seen.trouble = std::string(read.message());
  return seen;
}

RolloutView ViewOf(const ActiveRollout& rollout, const Observation& seen, Absences& absences,
                   const RolloutCollaborators& with) {
  RolloutView view;
  view.state = rollout.state();
  view.message = rollout.record.message;
  view.wave = rollout.record.wave;
  view.wave_since = rollout.record.wave_since;
  view.forgiven = rollout.record.forgiven;
  view.limits = rollout.limits;
  view.slurm_trouble = seen.trouble;
  view.now = with.clock.Now();
  view.zone = absl::LocalTimeZone();

  std::vector<std::string> pending;
  for (const RolloutNodeRecord& node : rollout.nodes) {
    if (node.step == v1::ROLLOUT_STEP_PENDING) pending.push_back(node.node);
  }
  std::map<std::string, std::string> busy;  // by node
  for (const auto& [holder, taken] : with.claims.HoldersOf(pending)) {
    for (const std::string& node : taken.nodes) busy[node] = taken.reason;
  }

  view.nodes.reserve(rollout.nodes.size());
  for (size_t i = 0; i < rollout.nodes.size(); ++i) {
    const RolloutNodeRecord& stored = rollout.nodes[i];
    NodeView node;
    node.name = stored.node;
    node.step = rollout.step(i);
    node.since = stored.since;
    node.message = stored.message;
    node.was_available = stored.was_available;
    node.passed_over = stored.passed_over;
    node.rack = rollout.places[i].rack;
    node.switch_name = rollout.places[i].switch_name;
    node.is_connected = with.sessions.IsConnected(stored.node_uuid);
    if (node.is_connected) {
      absences.erase(stored.node_uuid);
    } else {
      node.away_since = absences.try_emplace(stored.node_uuid, view.now).first->second;
    }
    node.is_removed = !seen.members.empty() && seen.members.count(stored.node_uuid) == 0;
    node.service = with.gate.ServiceOf(stored.node);
    const auto in_slurm = seen.nodes.find(stored.node);
    const bool is_known = in_slurm != seen.nodes.end();
    node.is_worker = i < rollout.worker_count();
    node.waits_for_run = node.step == v1::ROLLOUT_STEP_APPLYING && stored.run_id.empty();
    node.waits_for_suite = rollout.waits_for_suite(i);
    node.is_available = node.is_connected && (!seen.has_slurm || !node.is_worker ||
                                              (is_known && in_slurm->second.takes_jobs));
    node.is_silent = is_known && in_slurm->second.is_silent;
    node.is_drained = seen.IsOut(stored.node, stored.since);
    if (const auto jobs = seen.jobs.find(stored.node); jobs != seen.jobs.end())
      node.jobs = jobs->second;
    if (const auto holder = busy.find(stored.node); holder != busy.end())
      node.busy = holder->second;
    view.nodes.push_back(std::move(node));
  }
  return view;
}

}  // namespace muster::controller::rollout
