#include "controller/health/node_health.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/proto_time.h"

namespace muster::controller::health {
namespace {

// A kind of report that no honest agent makes must not keep a set for each of its reports.
constexpr size_t kMaxSets = 1000;

auto KeyOf(const v1::Condition& condition) {
  return std::tie(condition.name(), condition.object());
}

bool IsBefore(const v1::Condition& a, const v1::Condition& b) { return KeyOf(a) < KeyOf(b); }

bool IsNews(const v1::Condition& before, const v1::Condition& now) {
  return before.status() != now.status() || before.severity() != now.severity();
}

v1::Condition WellAgain(const v1::Condition& before, absl::Time now) {
  v1::Condition condition;
  condition.set_name(before.name());
  condition.set_object(before.object());
  condition.set_status(v1::CONDITION_STATUS_OK);
  condition.set_severity(before.severity());
  *condition.mutable_since() = ToTimestamp(now);
  return condition;
}

}  // namespace

std::shared_ptr<const Watched> WatchedSets::Share(const v1::HealthReport& report) {
  auto watched = std::make_shared<const Watched>(report.watched().begin(), report.watched().end());
  if (const auto found = sets_.find(watched); found != sets_.end()) return *found;
  if (sets_.size() >= kMaxSets) {
    for (auto set = sets_.begin(); set != sets_.end();) {
      set = set->use_count() == 1 ? sets_.erase(set) : std::next(set);
    }
  }
  if (sets_.size() < kMaxSets) sets_.insert(watched);
  return watched;
}

std::vector<v1::Condition> NodeHealth::Take(const v1::HealthReport& report, WatchedSets& sets,
                                            absl::Time now) {
  std::vector<v1::Condition> conditions;
  for (const v1::Condition& condition : report.conditions()) {
    if (condition.status() != v1::CONDITION_STATUS_BAD &&
        condition.status() != v1::CONDITION_STATUS_UNKNOWN)
      continue;
    v1::Condition& taken = conditions.emplace_back(condition);
    if (!taken.has_since() || ToTime(taken.since()) > now)
      *taken.mutable_since() = ToTimestamp(now);
  }
  std::stable_sort(conditions.begin(), conditions.end(), IsBefore);
  conditions.erase(std::unique(conditions.begin(), conditions.end(),
                               [](const auto& a, const auto& b) { return KeyOf(a) == KeyOf(b); }),
                   conditions.end());
  std::vector<v1::Condition> changes;
  auto before = conditions_.begin();
  for (const v1::Condition& condition : conditions) {
    for (; before != conditions_.end() && IsBefore(*before, condition); ++before)
      changes.push_back(WellAgain(*before, now));
    const bool is_known = before != conditions_.end() && KeyOf(*before) == KeyOf(condition);
    if (!is_known || IsNews(*before, condition)) changes.push_back(condition);
    if (is_known) ++before;
  }
  for (; before != conditions_.end(); ++before) changes.push_back(WellAgain(*before, now));
  conditions_ = std::move(conditions);
  watched_ = sets.Share(report);
  reported_at_ = now;
  return changes;
}

Standing NodeHealth::StandingOf(absl::string_view name) const {
  const v1::Condition* worst = WorstOf(conditions_, name);
  if (worst != nullptr)
    return worst->status() == v1::CONDITION_STATUS_BAD ? Standing::kBad : Standing::kUnknown;
  return watched_->contains(name) ? Standing::kOk : Standing::kUnknown;
}

const v1::Condition* WorstOf(const std::vector<v1::Condition>& conditions, absl::string_view name) {
  const v1::Condition* worst = nullptr;
  const auto rank = [](const v1::Condition& condition) {
    return std::make_tuple(condition.status() != v1::CONDITION_STATUS_BAD, -condition.severity(),
                           ToTime(condition.since()));
  };
  for (const v1::Condition& condition : conditions) {
    if (absl::string_view(condition.name()) != name) continue;
    if (worst == nullptr || rank(condition) < rank(*worst)) worst = &condition;
  }
  return worst;
}

std::set<std::string> PartsOf(const std::vector<v1::Condition>& conditions, absl::string_view name,
                              v1::ConditionStatus status) {
  std::set<std::string> parts;
  for (const v1::Condition& condition : conditions) {
    if (condition.name() == name && condition.status() == status) parts.insert(condition.object());
  }
  return parts;
}

}  // namespace muster::controller::health
