#include "controller/rollout/observation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/claim/node_claims.h"
#include "controller/gate/job_gate.h"
#include "controller/gate/slurm_jobs.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/collaborators.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::rollout {

Observation Observe(const RolloutCollaborators& with, const std::vector<std::string>& jobs_of) {
  Observation seen;
  seen.at = with.clock.Now();
  const absl::Status read = with.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> members, txn.nodes().List());
    for (const NodeRecord& node : members) {
      if (node.state != NodeRecord::kRemoved) seen.members.insert(node.uuid);
    }
    return absl::OkStatus();
  });
  auto nodes = with.slurm.Nodes();
  if (validation::IsNoSlurmYet(nodes.status())) return seen;
  seen.has_slurm = true;
  if (!nodes.ok() || !read.ok()) {
    seen.trouble = std::string((read.ok() ? nodes.status() : read).message());
    return seen;
  }
  std::vector<std::string> known;
  for (slurm::SlurmNode& node : *nodes) {
    std::string name = node.name;
    seen.nodes.emplace(std::move(name), std::move(node));
  }
  for (const std::string& name : jobs_of) {
    if (seen.nodes.count(name) > 0) known.push_back(name);
  }
  seen.asked.insert(jobs_of.begin(), jobs_of.end());
  if (known.empty()) return seen;
  auto jobs = with.slurm.JobsOn(known);
  if (jobs.ok()) {
    seen.jobs = *std::move(jobs);
  } else {
    seen.trouble = std::string(jobs.status().message());
  }
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
    node.is_available = node.is_connected && (!seen.has_slurm || !node.is_worker ||
                                              (is_known && in_slurm->second.takes_jobs));
    node.is_silent = is_known && in_slurm->second.is_silent;
    const bool is_out = !is_known || in_slurm->second.is_drained || in_slurm->second.is_held;
    const bool is_fresh = seen.at >= stored.since && seen.asked.count(stored.node) > 0;
    node.is_drained = !seen.has_slurm || (is_fresh && is_out);
    if (const auto jobs = seen.jobs.find(stored.node); jobs != seen.jobs.end())
      node.jobs = jobs->second;
    if (const auto holder = busy.find(stored.node); holder != busy.end())
      node.busy = holder->second;
    view.nodes.push_back(std::move(node));
  }
  return view;
}

}  // namespace muster::controller::rollout
