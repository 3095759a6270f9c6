#include "controller/rollout/node_work.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/human_duration.h"
#include "controller/gate/node_pass.h"
#include "controller/gate/service_state.h"
#include "controller/rollout/rollout_records.h"
#include "controller/run/run_records.h"
#include "controller/store/store.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::rollout {
namespace {

// Among so many of the newest, work that an earlier process began is looked for.
constexpr uint32_t kRecentRuns = 1000;
constexpr uint32_t kRecentValidations = 8;
// A node that has rebooted reports its GPUs within seconds.
constexpr absl::Duration kPassGrace = absl::Minutes(2);

// A node that has been given back serves only when slurmctld reaches it: after a reboot that takes
// some seconds. Slurm takes one that stays silent down after a while, by its SlurmdTimeout.
constexpr absl::Duration kAnswerGrace = absl::Minutes(5);

// How the owners begin of the holds by conditions of the node's health.
constexpr absl::string_view kOfHealth = "health:";

using Progress = absl::StatusOr<std::optional<NodeMove>>;
// One for each node: its own health's, if there is one.
using HoldsByUuid = std::map<std::string, NodeHoldRecord>;

// A person's, or that of other work; not that of the node's own health.
bool IsOnPurpose(const NodeHoldRecord& hold) {
  return !hold.is_quarantine && !absl::StartsWith(hold.owner, kOfHealth);
}

NodeMove Move(size_t node, NodeEvent event, std::string message = "") {
  NodeMove move;
  move.node = node;
  move.event = event;
  move.message = std::move(message);
  return move;
}

Progress OfRun(Transaction& txn, const ActiveRollout& rollout, size_t index) {
  const RolloutNodeRecord& node = rollout.nodes[index];
  if (node.run_id.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const RunRecord run, txn.runs().Get(node.run_id));
  if (run.state == RunRecord::kRunning) return std::nullopt;
  ASSIGN_OR_RETURN(const RunNodeRecord recap, txn.runs().GetNode(node.run_id, node.node));
  if (run.state != RunRecord::kSucceeded) {
    const std::string& why = recap.message.empty() ? run.message : recap.message;
    return Move(index, NodeEvent::kApplyFailed,
                absl::StrCat("run ", node.run_id, ": ", recap.state, why.empty() ? "" : ": ", why));
  }
  bool holds_pass = false;
  if (recap.changed == 0) {
    ASSIGN_OR_RETURN(holds_pass, validation::HoldsPass(txn, node.node_uuid));
  }
  NodeMove move =
      Move(index, holds_pass ? NodeEvent::kUnchanged : NodeEvent::kApplied,
           holds_pass ? "nothing had to be changed" : absl::StrCat("after run ", node.run_id));
  move.run_changed = recap.changed > 0;
  return move;
}

Progress OfValidation(Transaction& txn, const ActiveRollout& rollout, size_t index) {
  const RolloutNodeRecord& node = rollout.nodes[index];
  if (rollout.request.suite().empty() || index >= rollout.worker_count())
    return Move(index, NodeEvent::kPassed);
  if (node.validation_id.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const ValidationRecord validation, txn.validations().Get(node.validation_id));
  if (validation.state == ValidationRecord::kRunning) return std::nullopt;
  ASSIGN_OR_RETURN(const auto verdicts, txn.validations().ListNodes(node.validation_id));
  int outcome = v1::OUTCOME_UNSPECIFIED;
  for (const ValidationNodeRecord& verdict : verdicts) {
    if (verdict.node == node.node && !verdict.is_witness) outcome = verdict.outcome;
  }
  if (outcome == v1::OUTCOME_PASS) return Move(index, NodeEvent::kPassed);
  if (outcome == v1::OUTCOME_FAIL) {
    return Move(index, NodeEvent::kNotPassed,
                absl::StrCat("failed validation ", node.validation_id));
  }
  return Move(index, NodeEvent::kUntested,
              absl::StrCat("validation ", node.validation_id, " came to no verdict",
                           validation.message.empty() ? "" : ": ", validation.message));
}

// A rollout without a suite gives no pass to a node that the gate keeps out for want of one. Nor
// does one with a suite once more, where the node has changed since it passed.
std::optional<NodeMove> WithoutPass(const ActiveRollout& rollout, size_t index,
                                    const slurm::SlurmNode& slurm_node, const Observation& seen) {
  const RolloutNodeRecord& node = rollout.nodes[index];
  const std::optional<std::string> owner = slurm::OwnerOf(slurm_node.reason);
  const bool is_gates = owner.has_value() && *owner != rollout.record.rollout_id;
  const bool has_suite = !rollout.request.suite().empty();
  // What the suite's own validation has drained, the gate gives back.
  const bool is_drained = slurm_node.is_drained &&
                          validation::WhatKeepsOut(slurm_node) == validation::KeptOutBy::kItself;
  if (!is_gates || (has_suite && !is_drained)) return std::nullopt;
  // Its facts may still be on their way, and while Slurm did not answer, nobody gave the node back.
  const bool may_come = seen.at - std::max(node.since, seen.answers_since) < kPassGrace;
  if (may_come && (has_suite || node.was_available)) return std::nullopt;
  if (!node.was_available)
    return Move(index, NodeEvent::kBack,
                absl::StrCat("stays out of service, as it was: ", slurm_node.reason));
  return Move(
      index, NodeEvent::kUntested,
      absl::StrCat("it is not the machine that has passed any more (", slurm_node.reason, ")",
                   has_suite ? "" : ", and this rollout has no suite", ": muster validate ",
                   node.node, ", then muster node resume ", node.node));
}

// A node whose slurmd does not answer, or that Slurm keeps down: nothing that the gate does lets it
// in.
std::optional<NodeMove> StaysDown(const RolloutNodeRecord& node, size_t index,
                                  const slurm::SlurmNode& slurm_node, const Observation& seen) {
  // A drain alone is the gate's to remove.
  const bool is_down = !slurm_node.is_drained || slurm_node.is_silent;
  // While Slurm did not answer, nobody could give the node back.
  if (!is_down || seen.at - std::max(node.since, seen.answers_since) <= kAnswerGrace)
    return std::nullopt;
  const std::string state = slurm_node.reason.empty()
                                ? slurm_node.state
                                : absl::StrCat(slurm_node.state, " (", slurm_node.reason, ")");
  if (!node.was_available)
    return Move(index, NodeEvent::kBack, absl::StrCat("stays out of service, as it was: ", state));
  return Move(index, NodeEvent::kUntested,
              absl::StrCat("it was given back, and ", HumanDuration(kAnswerGrace),
                           " later Slurm has it as ", state,
                           ": see journalctl -u slurmd there; scontrol update nodename=", node.node,
                           " state=resume, then muster node resume ", node.node));
}

// Whoever keeps the node out did so on purpose, or it was out before: it stays out as well as done.
// A node that served before and that slurmctld or its own health has taken out since has failed.
NodeMove StaysOut(const RolloutNodeRecord& node, size_t index, bool is_purpose,
                  absl::string_view why, absl::string_view remedy) {
  if (is_purpose || !node.was_available)
    return Move(index, NodeEvent::kBack, absl::StrCat("stays out of service: ", why));
  return Move(index, NodeEvent::kUntested,
              absl::StrCat("it went out of service while it was updated: ", why, ": ", remedy,
                           ", then muster node resume ", node.node));
}

std::optional<NodeMove> OfSlurm(const ActiveRollout& rollout, size_t index, const Observation& seen,
                                const HoldsByUuid& held) {
  const RolloutNodeRecord& node = rollout.nodes[index];
  if (!seen.trouble.empty() || seen.at < node.since) return std::nullopt;
  const auto in_slurm = seen.nodes.find(node.node);
  if (!seen.has_slurm || in_slurm == seen.nodes.end()) return Move(index, NodeEvent::kBack);
  const slurm::SlurmNode& slurm_node = in_slurm->second;
  if (slurm_node.takes_jobs && !slurm_node.is_silent) return Move(index, NodeEvent::kBack);
  if (slurm_node.takes_jobs && seen.at - node.since > kAnswerGrace) {
    return Move(
        index, NodeEvent::kBack,
        absl::StrCat("slurmctld has not reached its slurmd within ", HumanDuration(kAnswerGrace)));
  }
  const bool is_others = (slurm_node.is_drained || slurm_node.is_held) &&
                         !slurm::OwnerOf(slurm_node.reason).has_value();
  if (is_others) {
    const bool is_purpose = validation::WhatKeepsOut(slurm_node) == validation::KeptOutBy::kPerson;
    return StaysOut(
        node, index, is_purpose, slurm_node.reason,
        absl::StrCat("mend that; scontrol update nodename=", node.node, " state=resume"));
  }
  if (const auto hold = held.find(node.node_uuid); hold != held.end()) {
    const NodeHoldRecord& by = hold->second;
    return StaysOut(node, index, IsOnPurpose(by),
                    absl::StrCat(by.is_quarantine ? "quarantined: " : "drained: ", by.reason),
                    absl::StrCat("see muster health ", node.node));
  }
  if (std::optional<NodeMove> move = WithoutPass(rollout, index, slurm_node, seen)) return move;
  return StaysDown(node, index, slurm_node, seen);
}

}  // namespace

absl::StatusOr<std::vector<NodeMove>> ReadProgress(Transaction& txn, const ActiveRollout& rollout,
                                                   const Observation& seen) {
  std::vector<NodeMove> moves;
  HoldsByUuid held;  // by others than rollouts of these nodes
  ASSIGN_OR_RETURN(const std::vector<NodeHoldRecord> holds, txn.node_holds().List());
  for (const NodeHoldRecord& hold : holds) {
    if (hold.owner == rollout.record.rollout_id) continue;
    const auto [at, is_first] = held.try_emplace(hold.node_uuid, hold);
    if (!is_first && IsOnPurpose(at->second) && !IsOnPurpose(hold)) at->second = hold;
  }
  for (size_t i = 0; i < rollout.nodes.size(); ++i) {
    const RolloutNodeRecord& node = rollout.nodes[i];
    if (!IsActive(rollout.step(i))) continue;
    const absl::StatusOr<NodeRecord> now = txn.nodes().GetByName(node.node);
    if (absl::IsNotFound(now.status()) || (now.ok() && now->uuid != node.node_uuid)) {
      moves.push_back(Move(i, NodeEvent::kLeftOut, "it was removed from the cluster"));
      continue;
    }
    RETURN_IF_ERROR(now.status());
    Progress move = std::optional<NodeMove>();
    switch (rollout.step(i)) {
      case v1::ROLLOUT_STEP_APPLYING:
        move = OfRun(txn, rollout, i);
        break;
      case v1::ROLLOUT_STEP_VALIDATING:
        move = OfValidation(txn, rollout, i);
        break;
      case v1::ROLLOUT_STEP_RESUMING:
        move = OfSlurm(rollout, i, seen, held);
        break;
      default:  // Decide() knows when a draining node is idle
        break;
    }
    RETURN_IF_ERROR(move.status());
    if (move->has_value()) moves.push_back(**std::move(move));
  }
  return moves;
}

absl::StatusOr<std::vector<NodeMove>> FindLostWork(Transaction& txn, const ActiveRollout& rollout) {
  std::vector<NodeMove> moves;
  std::vector<RunRecord> runs;
  for (size_t i = 0; i < rollout.nodes.size(); ++i) {
    const RolloutNodeRecord& node = rollout.nodes[i];
    NodeMove move;
    move.node = i;
    move.message = node.message;
    if (rollout.step(i) == v1::ROLLOUT_STEP_APPLYING && node.run_id.empty()) {
      if (runs.empty()) {
        ASSIGN_OR_RETURN(runs, txn.runs().List(kRecentRuns));
      }
      for (const RunRecord& run : runs) {
        const v1::CreateRunRequest request = controller::RequestOf(run);
        const bool is_ours = run.created_at >= node.since &&
                             run.created_by == rollout.record.created_by &&
                             request.limit() == node.node && !request.check_only() &&
                             request.bundle_sha256() == rollout.request.bundle_sha256() &&
                             request.playbook() == rollout.request.playbook();
        if (is_ours) move.run_id = run.run_id;
      }
    }
    if (rollout.step(i) == v1::ROLLOUT_STEP_VALIDATING && node.validation_id.empty()) {
      ASSIGN_OR_RETURN(const auto validations,
                       txn.validations().List(kRecentValidations, node.node));
      for (const ValidationRecord& validation : validations) {
        v1::CreateValidationRequest request;
        request.ParseFromString(validation.request);
        const bool is_ours = validation.created_at >= node.since &&
                             validation.created_by == rollout.record.created_by &&
                             request.nodes() == node.node &&
                             validation.suite == rollout.request.suite();
        if (is_ours) move.validation_id = validation.validation_id;
      }
    }
    if (move.run_id.has_value() || move.validation_id.has_value()) moves.push_back(move);
  }
  return moves;
}

}  // namespace muster::controller::rollout
