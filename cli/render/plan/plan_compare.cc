#include "cli/render/plan/plan_compare.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/plain_text.h"
#include "cli/render/plan/plan_report.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/plan_file.pb.h"

namespace muster::cli {
namespace {

using NodeSet = std::set<std::string>;

// A key that is equal for outcomes that do the same.
std::string KeyOf(const v1::PlannedOutcome& outcome) {
  std::string key =
      absl::StrCat(outcome.status(), "\n", outcome.resource(), "\n", outcome.message());
  for (const v1::Change& change : outcome.changes()) {
    absl::StrAppend(&key, "\n", change.field(), "\n", change.before(), "\n", change.after());
  }
  return key;
}

// The outcomes of a step by node.
using OutcomesByNode = std::map<std::string, const v1::PlannedOutcome*>;

absl::StatusOr<OutcomesByNode> OutcomesOf(const v1::PlannedStep* step, const NodeSet& nodes) {
  OutcomesByNode by_node;
  if (step == nullptr) return by_node;
  for (const v1::PlannedOutcome& outcome : step->outcomes()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(outcome.nodes()));
    for (const std::string& name : names) {
      if (nodes.count(name) > 0) by_node[name] = &outcome;
    }
  }
  return by_node;
}

std::string Words(const v1::PlannedOutcome* outcome) {
  return outcome == nullptr ? "no such step" : DescribeOutcome(*outcome);
}

// Gathers nodes with the same difference.
class Differences {
 public:
  void Add(const std::string& text, const std::string& node) {
    const auto [it, inserted] = index_.try_emplace(text, found_.size());
    if (inserted) found_.emplace_back(text, std::vector<std::string>());
    found_[it->second].second.push_back(node);
    nodes_.insert(node);
  }
  bool Has(const std::string& node) const { return nodes_.count(node) > 0; }
  std::vector<PlanDifference> Take() {
    std::vector<PlanDifference> out;
    for (auto& [text, names] : found_) out.push_back({FoldHostlist(std::move(names)), text});
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> found_;
  std::map<std::string, size_t> index_;
  NodeSet nodes_;
};

const v1::PlannedPlay* FindPlay(const v1::PlanFile& file, uint32_t index) {
  for (const v1::PlannedPlay& play : file.plays()) {
    if (play.play_index() == index) return &play;
  }
  return nullptr;
}

absl::Status CompareSteps(const v1::PlannedPlay* planned, const v1::PlannedPlay* now,
                          const NodeSet& nodes, Differences& differences) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<const v1::PlannedStep*, const v1::PlannedStep*>> steps;
  const auto take = [&](const v1::PlannedPlay* play, auto member) {
    if (play == nullptr) return;
    for (const v1::PlannedStep& step : play->steps()) {
      const auto [it, inserted] = steps.try_emplace(step.step_id());
      if (inserted) order.push_back(step.step_id());
      it->second.*member = &step;
    }
  };
  using Pair = std::pair<const v1::PlannedStep*, const v1::PlannedStep*>;
  take(planned, &Pair::first);
  take(now, &Pair::second);
  for (const std::string& id : order) {
    const auto [was, is] = steps[id];
    ASSIGN_OR_RETURN(const OutcomesByNode before, OutcomesOf(was, nodes));
    ASSIGN_OR_RETURN(const OutcomesByNode after, OutcomesOf(is, nodes));
    const v1::PlannedStep& step = was != nullptr ? *was : *is;
    NodeSet all;
    for (const auto& [name, outcome] : before) all.insert(name);
    for (const auto& [name, outcome] : after) all.insert(name);
    for (const std::string& node : all) {
      const auto first = before.find(node);
      const auto second = after.find(node);
      const v1::PlannedOutcome* a = first == before.end() ? nullptr : first->second;
      const v1::PlannedOutcome* b = second == after.end() ? nullptr : second->second;
      if (a != nullptr && b != nullptr && (a == b || KeyOf(*a) == KeyOf(*b))) continue;
      differences.Add(absl::StrCat(StepTitle(step), ": planned ", Words(a), ", now ", Words(b)),
                      node);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, std::string>> DigestsOf(const v1::PlannedPlay* play,
                                                             const NodeSet& nodes) {
  std::map<std::string, std::string> digests;
  if (play == nullptr) return digests;
  for (const v1::PlannedNodes& each : play->nodes()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(each.nodes()));
    for (const std::string& name : names) {
      if (nodes.count(name) > 0) digests[name] = each.steps_digest();
    }
  }
  return digests;
}

}  // namespace

absl::StatusOr<std::vector<PlanDifference>> ComparePlans(const v1::PlanFile& planned,
                                                         const v1::PlanFile& now,
                                                         const std::set<std::string>& nodes) {
  Differences differences;
  NodeSet away;
  for (const v1::LeftOut& left_out : now.left_out()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(left_out.nodes()));
    for (const std::string& name : names) {
      if (nodes.count(name) == 0) continue;
      away.insert(name);
      differences.Add(absl::StrCat("now ", left_out.state(), ": ", left_out.message()), name);
    }
  }
  NodeSet here;
  std::set_difference(nodes.begin(), nodes.end(), away.begin(), away.end(),
                      std::inserter(here, here.end()));
  std::set<uint32_t> plays;
  for (const v1::PlannedPlay& play : planned.plays()) plays.insert(play.play_index());
  for (const v1::PlannedPlay& play : now.plays()) plays.insert(play.play_index());
  for (const uint32_t index : plays) {
    const v1::PlannedPlay* before = FindPlay(planned, index);
    const v1::PlannedPlay* after = FindPlay(now, index);
    RETURN_IF_ERROR(CompareSteps(before, after, here, differences));
    ASSIGN_OR_RETURN(const auto digests, DigestsOf(before, here));
    ASSIGN_OR_RETURN(auto fresh, DigestsOf(after, here));
    for (const auto& [node, digest] : digests) {
      if (differences.Has(node) || fresh[node] == digest) continue;
      differences.Add(
          absl::StrCat("play ", before->name(),
                       ": its steps now compile differently, because facts of nodes have changed"),
          node);
    }
  }
  return differences.Take();
}

std::string RenderDifferences(const std::vector<PlanDifference>& differences, size_t limit) {
  std::string text;
  for (size_t i = 0; i < std::min(limit, differences.size()); ++i) {
    absl::StrAppend(&text, Tame(differences[i].nodes), ": ", Tame(differences[i].text), "\n");
  }
  if (differences.size() > limit) {
    absl::StrAppend(&text, "… and ", differences.size() - limit, " more differences\n");
  }
  return text;
}

}  // namespace muster::cli
