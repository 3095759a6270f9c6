#include "cli/render/plan/plan_fold.h"

#include <algorithm>
#include <set>

#include "common/base/text/hostlist.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

void AddLeftOut(const v1::Run& run, v1::PlanFile& file) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_reason;
  for (const v1::NodeRecap& node : run.nodes()) {
    if (node.state() != "done") by_reason[{node.state(), node.message()}].push_back(node.node());
  }
  for (const v1::BusyNodes& busy : run.left_out()) {
    v1::LeftOut& left_out = *file.add_left_out();
    left_out.set_nodes(busy.nodes());
    left_out.set_state("busy");
    left_out.set_message(busy.reason());
  }
  for (auto& [reason, names] : by_reason) {
    v1::LeftOut& left_out = *file.add_left_out();
    left_out.set_nodes(FoldHostlist(std::move(names)));
    left_out.set_state(reason.first);
    left_out.set_message(reason.second);
  }
}

void AddPlays(const v1::Run& run, v1::PlanFile& file) {
  for (int i = 0; i < run.plays_size(); ++i) {
    std::map<std::string, std::vector<std::string>> by_digest;
    for (const v1::NodeRecap& node : run.nodes()) {
      const auto digest = node.steps_digests().find(static_cast<uint32_t>(i));
      if (node.state() != "done" || digest == node.steps_digests().end()) continue;
      by_digest[digest->second].push_back(node.node());
    }
    if (by_digest.empty()) continue;
    v1::PlannedPlay& play = *file.add_plays();
    play.set_play_index(static_cast<uint32_t>(i));
    play.set_name(run.plays(i));
    for (auto& [digest, names] : by_digest) {
      v1::PlannedNodes& nodes = *play.add_nodes();
      nodes.set_nodes(FoldHostlist(std::move(names)));
      nodes.set_steps_digest(digest);
    }
  }
}

}  // namespace

uint32_t PlanFolder::NodeIndex(const std::string& node) {
  const auto [it, inserted] = node_index_.try_emplace(node, nodes_.size());
  if (inserted) nodes_.push_back(node);
  return it->second;
}

PlanFolder::Step& PlanFolder::Find(Role& role, uint32_t node, const v1::StepResult& result) {
  const auto known = role.known.find(result.step_id());
  if (known != role.known.end()) {
    role.last[node] = known->second;
    return *known->second;
  }
  // After the node's previous step: nodes may have steps that others lack.
  const auto last = role.last.find(node);
  auto place = role.steps.begin();
  if (last != role.last.end()) place = std::next(last->second);
  const auto step = role.steps.emplace(place);
  step->message.set_step_id(result.step_id());
  step->message.set_role(result.role());
  step->message.set_name(result.name());
  step->message.set_handler(result.handler());
  role.known[result.step_id()] = step;
  role.last[node] = step;
  return *step;
}

void PlanFolder::Add(const v1::NodeStepResult& result) {
  const uint32_t node = NodeIndex(result.node());
  Play& play = plays_[result.play_index()];
  Role*& role = play.known[result.result().role()];
  if (role == nullptr) {
    role = &play.roles.emplace_back();
    role->name = result.result().role();
  }
  Step& step = Find(*role, node, result.result());
  v1::PlannedOutcome outcome;
  outcome.set_status(result.result().status());
  outcome.set_resource(result.result().resource());
  *outcome.mutable_changes() = result.result().changes();
  if (outcome.status() == v1::STEP_STATUS_SKIPPED) outcome.set_message(result.result().message());
  const auto [at, inserted] =
      step.known.try_emplace(outcome.SerializeAsString(), step.outcomes.size());
  if (inserted) step.outcomes.push_back({std::move(outcome), {}});
  step.outcomes[at->second].nodes.push_back(node);
}

v1::PlanFile PlanFolder::Finish(const v1::Run& run) {
  v1::PlanFile file;
  AddLeftOut(run, file);
  for (const v1::RunValidation& validation : run.validations()) {
    v1::PlannedValidation& planned = *file.add_validations();
    planned.set_suite(validation.suite());
    planned.set_nodes(validation.nodes());
    planned.set_passed_nodes(validation.passed_nodes());
  }
  AddPlays(run, file);
  std::set<std::string> done;
  for (const v1::NodeRecap& node : run.nodes()) {
    if (node.state() == "done") done.insert(node.node());
  }
  for (v1::PlannedPlay& planned : *file.mutable_plays()) {
    for (Role& role : plays_[planned.play_index()].roles) {
      for (Step& step : role.steps) {
        v1::PlannedStep message = step.message;
        std::stable_sort(
            step.outcomes.begin(), step.outcomes.end(),
            [](const Outcome& a, const Outcome& b) { return a.nodes.size() > b.nodes.size(); });
        for (Outcome& outcome : step.outcomes) {
          std::vector<std::string> names;
          for (const uint32_t node : outcome.nodes) {
            if (done.count(nodes_[node]) > 0) names.push_back(nodes_[node]);
          }
          if (names.empty()) continue;
          outcome.message.set_nodes(FoldHostlist(std::move(names)));
          *message.add_outcomes() = outcome.message;
        }
        if (message.outcomes_size() > 0) *planned.add_steps() = std::move(message);
      }
    }
  }
  return file;
}

}  // namespace muster::cli
