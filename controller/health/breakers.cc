#include "controller/health/breakers.h"

#include <algorithm>

#include "controller/health/decision.h"

namespace muster::controller::health {

Breakers::Breakers(const Situation& situation, std::map<std::string, uint32_t>& counted)
    : situation_(situation), breakers_(situation.limits->size()) {
  std::set<std::pair<size_t, std::string>> nodes;  // once, however many conditions drained it
  for (const auto& [key, row] : situation.drains) {
    const HealthRules* rules = row.was_in_service ? situation.rules_of(key.first) : nullptr;
    if (rules == nullptr) continue;
    for (const size_t i : rules->breakers) {
      if (situation.now - row.drained_at < (*situation.limits)[i].window)
        nodes.emplace(i, key.first);
    }
  }
  for (const auto& [i, uuid] : nodes) ++breakers_[i].drained;
  for (size_t i = 0; i < breakers_.size(); ++i) {
    const DrainLimit& limit = (*situation.limits)[i];
    counted[limit.group] = breakers_[i].drained;
    breakers_[i].is_open = situation.breakers.contains(limit.group);
  }
}

void Breakers::Ask(const std::vector<const NodeView*>& nodes) {
  absl::flat_hash_set<std::string> asked;
  for (const NodeView* node : nodes) {
    if (!asked.insert(node->uuid).second) continue;
    bool may = true;
    for (const size_t i : node->rules->breakers) {
      if (!breakers_[i].is_open && breakers_[i].drained < (*situation_.limits)[i].max_drained)
        continue;
      breakers_[i].has_denied = true;
      may = false;
    }
    if (!may) continue;
    for (const size_t i : node->rules->breakers) ++breakers_[i].drained;
    allowed_.insert(node->uuid);
  }
}

bool Breakers::MayDrain(const NodeView& node) const { return allowed_.contains(node.uuid); }

void Breakers::Finish(std::vector<HealthBreakerRecord>& opened,
                      std::vector<HealthBreakerRecord>& denied, std::vector<std::string>& closed) {
  for (size_t i = 0; i < breakers_.size(); ++i) {
    const DrainLimit& limit = (*situation_.limits)[i];
    const auto record = situation_.breakers.find(limit.group);
    if (record == situation_.breakers.end()) {
      if (breakers_[i].has_denied) opened.push_back({limit.group, situation_.now, situation_.now});
    } else if (breakers_[i].has_denied) {
      denied.push_back({limit.group, record->second.opened_at, situation_.now});
    } else if (situation_.now - record->second.denied_at >= limit.window) {
      closed.push_back(limit.group);
    }
  }
  for (const auto& [group, record] : situation_.breakers) {
    const bool is_known =
        std::any_of(situation_.limits->begin(), situation_.limits->end(),
                    [&name = group](const DrainLimit& limit) { return limit.group == name; });
    if (!is_known) closed.push_back(group);
  }
}

}  // namespace muster::controller::health
