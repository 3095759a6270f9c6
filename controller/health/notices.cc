#include "controller/health/notices.h"

#include <compare>
#include <iterator>
#include <optional>
#include <set>
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
struct Key {
  std::string condition;
  bool is_resolved = false;
  v1::HealthResponse response = v1::HEALTH_RESPONSE_NONE;
  bool is_further = false;  // another part of a node of which it was said before
  friend auto operator<=>(const Key&, const Key&) = default;
};

// The worst of the condition's parts; nullopt: the agent has not reported it.
std::optional<v1::Condition> Reported(const NodeView& node, const std::string& condition,
                                      const std::set<std::string>& parts) {
  std::vector<v1::Condition> reported;
  for (const v1::Condition& each : node.health->conditions()) {
    if (parts.contains(each.object())) reported.push_back(each);
  }
  const v1::Condition* worst = WorstOf(reported, condition);
  return worst == nullptr ? std::nullopt : std::make_optional(*worst);
}

std::string TextOf(const std::optional<v1::Condition>& reported, bool is_further,
                   const Words& words) {
  if (!reported.has_value()) return absl::StrCat("the agent does not answer", words.text);
  const std::string part = reported->object().empty() ? "" : reported->object() + ": ";
  return absl::StrCat(is_further ? absl::StrCat("also ", part) : "", reported->evidence(),
                      words.text);
}

}  // namespace

std::string Line(const Notice& notice) {
  return notice.nodes.empty() ? notice.text
                              : absl::StrCat(FoldHostlist(notice.nodes), ": ", notice.text);
}

void Notices::Said::SetSaid(const Parts& bad, absl::Time now) {
  at = now;
  for (const std::string& part : bad) {
    if (parts.contains(part) || parts.size() < kMaxParts) parts[part] = {now};
  }
}

void Notices::Said::SetWell(const Parts& not_well, absl::Duration cool_down, absl::Time now) {
  for (auto each = parts.begin(); each != parts.end();) {
    auto& [part, said] = *each;
    const bool is_well = !not_well.contains(part);
    said.is_well |= is_well;
    each = is_well && now - said.at >= cool_down ? parts.erase(each) : std::next(each);
  }
}

Notices::Parts Notices::Said::NewsOf(const Parts& bad, absl::Duration cool_down,
                                     absl::Time now) const {
  Parts news;
  for (const std::string& part : bad) {
    const auto known = parts.find(part);
    const bool is_news = known == parts.end()
                             ? parts.size() < kMaxParts
                             : known->second.is_well && now - known->second.at >= cool_down;
    if (is_news) news.insert(part);
  }
  return news;
}

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
    if (answer.standing != Standing::kBad) continue;
    const absl::Duration cool_down = node.rules->cool_down;
    Parts bad = PartsOf(node.health->conditions(), answer.condition, v1::CONDITION_STATUS_BAD);
    if (bad.empty()) bad.insert("");  // the node itself, which is lost
    if (const auto known = said_.find(key); known != said_.end()) {
      Parts not_well =
          PartsOf(node.health->conditions(), answer.condition, v1::CONDITION_STATUS_UNKNOWN);
      not_well.insert(bad.begin(), bad.end());
      known->second.SetWell(not_well, cool_down, situation.now);
    }
    const Words* words = WordsOf(answer.response);
    // While somebody works on a node, what is bad about it is no news: it is told if it stays so.
    if (words == nullptr || node.is_worked_on) continue;
    const auto [entry, is_new] = said_.try_emplace(key);
    Said& said = entry->second;
    if (said.is_earlier) {
      said.is_earlier = false;
      said.response = answer.response;
      said.SetSaid(bad, said.at);  // when, nobody knows
      continue;
    }
    const bool is_same = !is_new && said.response == answer.response;
    const Parts news = is_same ? said.NewsOf(bad, cool_down, situation.now) : bad;
    if (news.empty()) continue;
    const bool is_further = is_same && !said.is_resolved;
    const std::optional<v1::Condition> reported = Reported(node, answer.condition, news);
    said.node = node.name;
    said.response = answer.response;
    said.severity = reported.has_value() ? reported->severity() : v1::CONDITION_SEVERITY_FATAL;
    said.is_resolved = false;
    said.SetSaid(news, situation.now);
    Notice& notice = notices[{answer.condition, false, answer.response, is_further}];
    if (notice.nodes.empty()) {
      notice.text = TextOf(reported, is_further, *words);
      notice.severity = said.severity;
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
    for (auto& [name, part] : each.parts) part.is_well = true;
    if (!each.is_resolved) {
      each.is_resolved = true;
      Notice& notice = notices[{.condition = said->first.second, .is_resolved = true}];
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
    notice.text = absl::StrCat(notice.condition, ": ", notice.text);
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
