#include "controller/inventory/health_policy.h"

#include <algorithm>

#include "common/base/text/nearest_word.h"
#include "common/health/catalogue.h"
#include "controller/inventory/words.h"

namespace muster::controller {
namespace {

constexpr Word<v1::HealthAction> kActions[] = {
    {"observe", v1::HEALTH_ACTION_OBSERVE},
    {"notify", v1::HEALTH_ACTION_NOTIFY},
    {"drain", v1::HEALTH_ACTION_DRAIN},
    {"reboot_once_then_drain", v1::HEALTH_ACTION_REBOOT_ONCE_THEN_DRAIN},
    {"quarantine", v1::HEALTH_ACTION_QUARANTINE}};

constexpr uint32_t kFewWorkers = 2;
constexpr size_t kDefaultPercent = 2;

v1::HealthAction DefaultAction(absl::string_view condition) {
  if (condition == kNodeLost) return v1::HEALTH_ACTION_NOTIFY;
  const muster::health::ConditionInfo* info = muster::health::FindCondition(condition);
  if (info == nullptr) return v1::HEALTH_ACTION_OBSERVE;
  switch (info->policy) {
    case muster::health::DefaultPolicy::kObserve:
      return v1::HEALTH_ACTION_OBSERVE;
    case muster::health::DefaultPolicy::kNotify:
      return v1::HEALTH_ACTION_NOTIFY;
    case muster::health::DefaultPolicy::kDrain:
      return v1::HEALTH_ACTION_DRAIN;
  }
  return v1::HEALTH_ACTION_NOTIFY;
}

}  // namespace

absl::string_view HealthActionName(v1::HealthAction action) { return WordOf(kActions, action); }

std::string ParseHealthAction(absl::string_view word, v1::HealthAction* out) {
  return ParseWord(kActions, "action", word, out);
}

v1::HealthAction HealthRules::ActionOf(absl::string_view condition) const {
  const auto written = conditions.find(condition);
  return written == conditions.end() ? DefaultAction(condition) : written->second;
}

// Half of a small cluster must stay, whatever is believed of its nodes.
uint32_t DefaultMaxDrained(size_t workers) {
  const size_t share = std::max<size_t>(kFewWorkers, workers * kDefaultPercent / 100);
  return static_cast<uint32_t>(std::max<size_t>(1, std::min(share, workers / 2)));
}

const HealthRules* HealthPolicy::RulesOf(absl::string_view node) const {
  const auto found = rules_.find(node);
  return found == rules_.end() ? nullptr : found->second.get();
}

std::string HealthPolicy::DidYouMean(absl::string_view condition) const {
  std::vector<std::string> known = {std::string(kNodeLost)};
  for (const muster::health::ConditionInfo& each : muster::health::Catalogue())
    known.emplace_back(each.name);
  for (const auto& [name, place] : own_) known.push_back(name);
  return muster::DidYouMean(condition, known);
}

bool HealthPolicy::Knows(absl::string_view condition) const {
  return condition == kNodeLost || own_.contains(condition) ||
         muster::health::FindCondition(condition) != nullptr;
}

}  // namespace muster::controller
