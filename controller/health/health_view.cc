#include "controller/health/health_view.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "common/health/hold.h"

namespace muster::controller::health {
namespace {

constexpr int kMaxWaiting = 1000;

using Response = v1::HealthResponse;

// What comes next for a response that depends on nothing else; in the words of commands.
struct Next {
  Response response;
  absl::string_view text;
};
constexpr Next kNext[] = {
    {v1::HEALTH_RESPONSE_NOTIFIED, "fix it; or muster node drain NODE, muster silence add NODE"},
    {v1::HEALTH_RESPONSE_DRAINED, "repair the node; it returns when the condition is well"},
    {v1::HEALTH_RESPONSE_OBSERVED, "the policy would drain; observe_only is on"},
    {v1::HEALTH_RESPONSE_BREAKER,
     "too many nodes are bad at once: find what they share, or muster node drain NODE"},
    {v1::HEALTH_RESPONSE_ACKNOWLEDGED, "resumed by a person; drained again only after it was well"},
    {v1::HEALTH_RESPONSE_REBOOT_FAILED,
     "repair the node, it is not rebooted again; it returns when the condition is well"},
};

// What the suite does for a drain whose node has been well for long enough.
std::string OfRetest(const NodeView& node, const Answer& answer, const WaitsFor& waits_for) {
  const std::string waits = waits_for.retest({node.uuid, answer.condition});
  return absl::StrCat(node.rules->retest, waits.empty() ? "" : ": ", waits);
}

std::string OfReboot(const Situation& situation, const NodeView& node, const Answer& answer,
                     const WaitsFor& waits_for) {
  if (answer.drain->reboot == HealthDrainRecord::kRunning)
    return absl::StrCat("rebooted once by ", answer.drain->rollout_id,
                        " when it has no job: muster rollout show ", answer.drain->rollout_id);
  if (answer.drain->reboot == HealthDrainRecord::kDone) return "rebooted; its report is awaited";
  const std::string waits = waits_for.reboot({node.uuid, answer.condition});
  if (node.is_persons) return "to be rebooted once, but a person has drained it, too";
  const bool is_silenced = situation.silences.Find(node.name, answer.condition) != nullptr;
  return absl::StrCat("to be rebooted once", is_silenced     ? " when its silence has ended"
                                             : waits.empty() ? ""
                                                             : absl::StrCat("; waits: ", waits));
}

std::string OfQuarantine(const Situation& situation, const NodeView& node, const Answer& answer,
                         const WaitsFor& waits_for) {
  constexpr absl::string_view kResume = "an administrator lets it return: muster node resume NODE";
  const absl::string_view tested = node.rules->retest.empty() ? "" : " and has passed a test";
  if (answer.drain->is_cleared) return std::string(kResume);
  if (answer.needs_pass)
    return absl::StrCat("well; has to pass ", OfRetest(node, answer, waits_for), "; then ",
                        kResume);
  if (answer.good_until.has_value())
    return absl::StrCat("well; when it has been for ",
                        HumanDuration(*answer.good_until - situation.now), " more", tested, ", ",
                        kResume);
  return absl::StrCat("repair the node; when it is well", tested, ", ", kResume);
}

// What ends a condition that lasts until the next boot, besides a boot.
absl::string_view EndsAlsoWhen(absl::string_view condition) {
  // Also one that the mount's own options show, which clearing does not end.
  if (condition == "disk_readonly") return "when its file system is mounted anew, ";
  if (condition == "disk_health") return "when the disk says that it is well, ";
  return "";
}

std::string NextOf(const Situation& situation, const Answer& answer, const WaitsFor& waits_for) {
  const NodeView& node = situation.nodes[answer.node];
  switch (answer.response) {
    case v1::HEALTH_RESPONSE_RECOVERING:
      return absl::StrCat("well; returns in ", HumanDuration(*answer.good_until - situation.now),
                          node.rules->retest.empty() ? "" : " after a test");
    case v1::HEALTH_RESPONSE_RETESTING:
      return absl::StrCat("well; returns when it has passed ", OfRetest(node, answer, waits_for));
    case v1::HEALTH_RESPONSE_REBOOTING:
      return OfReboot(situation, node, answer, waits_for);
    case v1::HEALTH_RESPONSE_QUARANTINED:
      return OfQuarantine(situation, node, answer, waits_for);
    case v1::HEALTH_RESPONSE_SILENCED: {
      const HealthSilenceRecord* silence = situation.silences.Find(node.name, answer.condition);
      return absl::StrCat("silenced by ", silence->created_by, " for ",
                          HumanDuration(silence->until - situation.now), ": ", silence->reason);
    }
    default:
      break;
  }
  if (answer.standing == Standing::kUnknown) return "";
  // Repairing it is not enough: until the next boot the agent does not look again.
  if (answer.response == v1::HEALTH_RESPONSE_DRAINED &&
      muster::health::HoldOf(answer.condition) == absl::InfiniteDuration())
    return absl::StrCat("repair the node; it returns ", EndsAlsoWhen(answer.condition),
                        "after a reboot, or by muster health clear NODE ", answer.condition);
  for (const Next& next : kNext) {
    if (next.response == answer.response) return std::string(next.text);
  }
  return "";
}

v1::Condition LostCondition(const NodeView& node) {
  v1::Condition condition;
  condition.set_name(std::string(kNodeLost));
  condition.set_status(v1::CONDITION_STATUS_BAD);
  condition.set_severity(v1::CONDITION_SEVERITY_FATAL);
  *condition.mutable_since() = ToTimestamp(*node.away_since);
  condition.set_evidence("its agent does not answer");
  return condition;
}

// The conditions of an answer: each part of the node that is not well, or the one that was.
std::vector<v1::Condition> ConditionsOf(const NodeView& node, const Answer& answer) {
  std::vector<v1::Condition> conditions;
  if (answer.condition == kNodeLost && node.away_since.has_value()) {
    conditions.push_back(LostCondition(node));
    return conditions;
  }
  for (const v1::Condition& condition : node.health->conditions()) {
    if (condition.name() == answer.condition) conditions.push_back(condition);
  }
  if (!conditions.empty()) return conditions;
  v1::Condition& well = conditions.emplace_back();
  well.set_name(answer.condition);
  well.set_status(answer.standing == Standing::kOk ? v1::CONDITION_STATUS_OK
                                                   : v1::CONDITION_STATUS_UNKNOWN);
  if (answer.drain.has_value() && answer.drain->good_since.has_value())
    *well.mutable_since() = ToTimestamp(*answer.drain->good_since);
  return conditions;
}

v1::NodeHealth Begin(const NodeView& node) {
  v1::NodeHealth health;
  health.set_node(node.name);
  health.set_connected(!node.away_since.has_value());
  if (node.health->reported_at() != absl::InfinitePast())
    *health.mutable_reported_at() = ToTimestamp(node.health->reported_at());
  health.set_watched(static_cast<uint32_t>(node.health->watched().size()));
  health.set_service(node.service);
  const bool is_known = health.connected() && health.has_reported_at();
  health.set_status(is_known ? v1::CONDITION_STATUS_OK : v1::CONDITION_STATUS_UNKNOWN);
  return health;
}

// Problems of the same kind, the worst first; those that are only observed come last, so that the
// names that a hostile node makes up push nothing out of sight.
using ProblemKey = std::tuple<bool, int, std::string, Response, std::string>;

struct Folded {
  v1::HealthProblem problem;
  std::vector<std::string> nodes;
};

void Fold(const v1::ConditionView& view, const std::string& node,
          std::map<ProblemKey, Folded>& folded) {
  const v1::Condition& condition = view.condition();
  if (condition.status() != v1::CONDITION_STATUS_BAD && view.response() == v1::HEALTH_RESPONSE_NONE)
    return;
  Folded& fold = folded[{view.action() == v1::HEALTH_ACTION_OBSERVE, -condition.severity(),
                         condition.name(), view.response(), view.next()}];
  v1::HealthProblem& problem = fold.problem;
  if (fold.nodes.empty()) {
    problem.set_condition(condition.name());
    problem.set_severity(condition.severity());
    problem.set_evidence(condition.object().empty()
                             ? condition.evidence()
                             : absl::StrCat(condition.object(), ": ", condition.evidence()));
    problem.set_response(view.response());
    problem.set_next(view.next());
  }
  if (condition.has_since() &&
      (!problem.has_since() || ToTime(condition.since()) < ToTime(problem.since())))
    *problem.mutable_since() = condition.since();
  // A node with several bad parts comes once: nodes are folded one after the other.
  if (fold.nodes.empty() || fold.nodes.back() != node) fold.nodes.push_back(node);
}

void AddBreakers(const Situation& situation, const Decision& decision, HealthSummary& summary) {
  for (size_t i = 0; i < situation.limits->size(); ++i) {
    const DrainLimit& limit = (*situation.limits)[i];
    v1::HealthBreaker& breaker = summary.breakers.emplace_back();
    breaker.set_group(limit.group);
    breaker.set_max_drained(limit.max_drained);
    *breaker.mutable_window() = ToProtoDuration(limit.window);
    const auto counted = decision.counted.find(limit.group);
    breaker.set_drained(counted == decision.counted.end() ? 0 : counted->second);
    const auto open = situation.breakers.find(limit.group);
    if (open == situation.breakers.end()) continue;
    *breaker.mutable_open_since() = ToTimestamp(open->second.opened_at);
    std::string before;
    for (const Answer& answer : decision.answers) {
      const NodeView& node = situation.nodes[answer.node];
      const std::vector<size_t>& covering = node.rules->breakers;
      if (answer.response != v1::HEALTH_RESPONSE_BREAKER || node.name == before ||
          std::find(covering.begin(), covering.end(), i) == covering.end())
        continue;
      before = node.name;
      if (breaker.waiting_size() < kMaxWaiting) breaker.add_waiting(node.name);
    }
  }
}

}  // namespace

HealthSummary MakeSummary(const Situation& situation, const Decision& decision,
                          const WaitsFor& waits_for) {
  HealthSummary summary;
  std::map<ProblemKey, Folded> folded;
  summary.observe_only = !situation.nodes.empty();
  for (const NodeView& node : situation.nodes) {
    summary.nodes.push_back(Begin(node));
    summary.observe_only = summary.observe_only && node.rules->observe_only;
  }
  for (const Answer& answer : decision.answers) {
    const NodeView& node = situation.nodes[answer.node];
    v1::NodeHealth& health = summary.nodes[answer.node];
    for (v1::Condition& condition : ConditionsOf(node, answer)) {
      v1::ConditionView& view = *health.add_conditions();
      *view.mutable_condition() = std::move(condition);
      view.set_action(answer.action);
      view.set_response(answer.response);
      view.set_silence_id(answer.silence_id);
      view.set_next(NextOf(situation, answer, waits_for));
      if (answer.drain.has_value() && answer.drain->state == HealthDrainRecord::kHeld)
        *view.mutable_drained_at() = ToTimestamp(answer.drain->drained_at);
      Fold(view, node.name, folded);
    }
    if (answer.standing == Standing::kBad) {
      health.set_status(v1::CONDITION_STATUS_BAD);
    } else if (answer.standing == Standing::kUnknown &&
               health.status() != v1::CONDITION_STATUS_BAD) {
      health.set_status(v1::CONDITION_STATUS_UNKNOWN);
    }
  }
  for (auto& [key, fold] : folded) {
    fold.problem.set_node_count(static_cast<uint32_t>(fold.nodes.size()));
    fold.problem.set_nodes(FoldHostlist(std::move(fold.nodes)));
    summary.problems.push_back(std::move(fold.problem));
  }
  AddBreakers(situation, decision, summary);
  return summary;
}

}  // namespace muster::controller::health
