#include "controller/health/notices.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text/hostlist.h"

namespace muster::controller::health {
namespace {

struct Words {
  v1::HealthResponse response;
  absl::string_view text;  // follows the condition
};
// Others are nobody's concern.
constexpr Words kWords[] = {
    {v1::HEALTH_RESPONSE_NOTIFIED, ""},
    {v1::HEALTH_RESPONSE_DRAINED, "; drained"},
    {v1::HEALTH_RESPONSE_REBOOTING, "; drained, and to be rebooted once"},
    {v1::HEALTH_RESPONSE_REBOOT_FAILED, "; drained: a reboot did not help"},
    {v1::HEALTH_RESPONSE_QUARANTINED, "; quarantined"},
    {v1::HEALTH_RESPONSE_OBSERVED, "; not drained: the policy is in observe-only mode"},
    {v1::HEALTH_RESPONSE_BREAKER, "; not drained: too many nodes are bad (muster health)"},
};

const Words* WordsOf(v1::HealthResponse response) {
  for (const Words& words : kWords) {
    if (words.response == response) return &words;
  }
  return nullptr;
}

// Nodes are folded that have the same to say.
using Key = std::tuple<std::string, bool, v1::HealthResponse>;  // condition, resolved

// The condition as the first of the nodes has it.
const v1::Condition* Reported(const Situation& situation, const Answer& answer) {
  return WorstOf(situation.nodes[answer.node].health->conditions(), answer.condition);
}

}  // namespace

void Notices::Remember(const std::string& uuid, const std::string& node,
                       const std::string& condition) {
  Said& said = said_[{uuid, condition}];
  said.node = node;
  said.is_earlier = true;
}

std::vector<Notice> Notices::Take(const Situation& situation, const Decision& decision) {
  std::map<Key, Notice> notices;
  std::set<NodeCondition> open;
  for (const Answer& answer : decision.answers) {
    const NodeView& node = situation.nodes[answer.node];
    const NodeCondition key(node.uuid, answer.condition);
    const bool is_over = answer.standing == Standing::kOk;
    if (!is_over) open.insert(key);
    const Words* words = WordsOf(answer.response);
    // While somebody works on a node, what is bad about it is no news: it is told if it stays so.
    if (is_over || words == nullptr || answer.standing != Standing::kBad || node.is_worked_on)
      continue;
    const auto [said, is_new] = said_.try_emplace(key);
    if (said->second.is_earlier) {
      said->second.is_earlier = false;
      said->second.response = answer.response;
      continue;
    }
    const bool is_repeated =
        !is_new && said->second.response == answer.response &&
        (!said->second.is_resolved || situation.now - said->second.at < node.rules->cool_down);
    said->second.is_resolved = false;
    if (is_repeated) continue;
    const v1::Condition* reported = Reported(situation, answer);
    const v1::ConditionSeverity severity =
        reported == nullptr ? v1::CONDITION_SEVERITY_FATAL : reported->severity();
    said->second = {node.name, answer.response, severity, situation.now};
    Notice& notice = notices[{answer.condition, false, answer.response}];
    if (notice.nodes.empty()) {
      notice.text = absl::StrCat(
          reported == nullptr ? "the agent does not answer" : reported->evidence(), words->text);
      notice.severity = severity;
      notice.condition = answer.condition;
    }
    notice.nodes.push_back(node.name);
  }
  // Nothing is over while nobody can tell, as after a restart before the agents are back.
  std::set<std::string> away;
  for (const NodeView& node : situation.nodes) {
    if (node.away_since.has_value()) away.insert(node.uuid);
  }
  for (auto said = said_.begin(); said != said_.end();) {
    Said& each = said->second;
    if (open.contains(said->first) || away.contains(said->first.first)) {
      ++said;
      continue;
    }
    if (!each.is_resolved) {
      each.is_resolved = true;
      Notice& notice = notices[{said->first.second, true, v1::HEALTH_RESPONSE_NONE}];
      notice.condition = said->first.second;
      notice.is_resolved = true;
      notice.severity = each.severity;
      notice.text = "well again";
      notice.nodes.push_back(each.node);
    }
    const HealthRules* rules = situation.rules_of(said->first.first);
    const bool is_old = rules == nullptr || situation.now - each.at >= rules->cool_down;
    said = is_old ? said_.erase(said) : std::next(said);
  }
  std::vector<Notice> all;
  for (auto& [key, notice] : notices) {
    notice.text =
        absl::StrCat(notice.condition, " on ", FoldHostlist(notice.nodes), ": ", notice.text);
    all.push_back(std::move(notice));
  }
  for (const HealthBreakerRecord& breaker : decision.opened) {
    Notice& notice = all.emplace_back();
    notice.condition = breaker.group;
    notice.is_breaker = true;
    notice.severity = v1::CONDITION_SEVERITY_FATAL;
    notice.text = absl::StrCat("too many nodes of ", breaker.group,
                               " are bad at once; no more are drained for their health");
  }
  for (const std::string& group : decision.closed) {
    Notice& notice = all.emplace_back();
    notice.condition = group;
    notice.is_breaker = notice.is_resolved = true;
    notice.severity = v1::CONDITION_SEVERITY_FATAL;
    notice.text = absl::StrCat("nodes of ", group, " are drained for their health again");
  }
  return all;
}

}  // namespace muster::controller::health
