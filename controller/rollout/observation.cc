#include "controller/rollout/observation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/slurm_state.h"
#include "controller/claim/node_claims.h"
#include "controller/gate/job_gate.h"
#include "controller/gate/service_state.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/collaborators.h"
#include "controller/rollout/preparation.h"
#include "controller/run/collaborators.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::rollout {
namespace {

// What Slurm says of a node that is a worker.
struct Serving {
  bool takes_jobs = true;  // with an agent that is connected
  bool is_power_saved = false;
};

Serving ServingOf(const Observation& seen, const std::string& node) {
  if (!seen.has_slurm) return {};
  const auto found = seen.nodes.find(node);
  if (found == seen.nodes.end()) return {.takes_jobs = false};
  const slurm::SlurmNode& known = found->second;
  return {known.takes_jobs, known.takes_jobs && IsPowerSavedInSlurm(known.state)};
}

// The workers that are out of service, without the rollout's own nodes. None while Slurm does not
// say which serve: nothing is decided then.
std::vector<OtherWorker> OthersOut(const ActiveRollout& rollout, const Observation& seen,
                                   const RolloutCollaborators& with) {
  std::vector<OtherWorker> others;
  if (!seen.trouble.empty()) return others;
  const absl::StatusOr<InventoryVersion> inventory = with.inventory.Latest();
  if (!inventory.ok()) return others;
  std::set<std::string> own;
  for (const RolloutNodeRecord& node : rollout.nodes) own.insert(node.node);
  for (const auto& [name, uuid] : seen.joined) {
    const Node* const node = inventory->inventory->FindNode(name);
    if (node == nullptr || node->role != NodeRole::kCompute || own.count(name) > 0) continue;
    const Serving serving = ServingOf(seen, name);
    if (serving.is_power_saved || (serving.takes_jobs && with.sessions.IsConnected(uuid))) continue;
    const ActiveRollout::Place place = PlaceOf(*inventory->inventory, name);
    others.push_back({name, place.rack, place.switch_name});
  }
  return others;
}

}  // namespace

Observation Observe(const RolloutCollaborators& with, const std::vector<std::string>& jobs_of) {
  std::set<std::string> members;
  std::map<std::string, std::string> joined;
  const absl::StatusOr<InventoryVersion> inventory = with.inventory.Latest();
  const auto is_listed = [&](const std::string& name) {
    return !inventory.ok() || inventory->inventory->FindNode(name) != nullptr;
  };
  const absl::Status read = with.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes) {
      if (node.state != NodeRecord::kRemoved && is_listed(node.name)) members.insert(node.uuid);
      if (node.state == NodeRecord::kEnrolled || node.state == NodeRecord::kConfigured)
        joined[node.name] = node.uuid;
    }
    return absl::OkStatus();
  });
  Observation seen{validation::LookAtSlurm(with.slurm, with.clock, jobs_of), std::move(members),
                   std::move(joined)};
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
  view.forgiven = {rollout.record.forgiven, rollout.record.forgiven_out};
  view.limits = rollout.limits;
  view.slurm_trouble = seen.trouble;
  view.now = with.clock.Now();
  view.zone = absl::LocalTimeZone();

  if (view.limits.max_per_rack > 0 || view.limits.max_per_switch > 0)
    view.others_out = OthersOut(rollout, seen, with);

  std::vector<std::string> at_rest;  // nodes on which the rollout does nothing now
  for (const RolloutNodeRecord& node : rollout.nodes) {
    if (node.step == v1::ROLLOUT_STEP_PENDING || node.step == v1::ROLLOUT_STEP_DONE)
      at_rest.push_back(node.node);
  }
  std::map<std::string, std::string> busy;  // by node
  for (const auto& [holder, taken] : with.claims.HoldersOf(at_rest)) {
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
    const Serving serving = node.is_worker ? ServingOf(seen, stored.node) : Serving();
    node.is_available = node.is_connected && serving.takes_jobs;
    node.is_power_saved = serving.is_power_saved;
    node.is_silent = is_known && in_slurm->second.is_silent;
    node.is_drained = seen.IsOut(stored.node, stored.since);
    if (const auto jobs = seen.jobs.find(stored.node); jobs != seen.jobs.end())
      node.jobs = jobs->second;
    if (const auto holder = busy.find(stored.node); holder != busy.end())
      node.busy = holder->second;
    const auto kept =
        is_known ? validation::WhatKeepsOut(in_slurm->second) : validation::KeptOutBy::kItself;
    node.is_worked_on = !node.busy.empty() || kept == validation::KeptOutBy::kWork;
    node.is_persons = kept == validation::KeptOutBy::kPerson;
    view.nodes.push_back(std::move(node));
  }
  return view;
}

}  // namespace muster::controller::rollout
