#include "agent/health/condition_board.h"

#include <algorithm>
#include <utility>

#include "common/base/text/plain_text.h"
#include "common/health/catalogue.h"

namespace muster::agent::health {

bool ConditionBoard::HasRoomFor(absl::string_view condition) const {
  const muster::health::ConditionInfo* const known = muster::health::FindCondition(condition);
  const bool is_urgent = known == nullptr || known->policy == muster::health::DefaultPolicy::kDrain;
  return states_.size() + events_.size() < kMaxRows - (is_urgent ? 0 : kDrainRows);
}

void ConditionBoard::Merge(absl::Span<const WatchedCondition> conditions, const Findings& findings,
                           absl::Duration longest_step, absl::Time now) {
  const auto key_of = [](const std::string& condition, const std::string& object) {
    return Key(condition, PlainText(object, Lines::kOne, kMaxObjectBytes));
  };
  std::map<Key, const Finding*> found;
  for (const Finding& finding : findings.troubles) {
    const auto [place, is_new] = found.emplace(key_of(finding.condition, finding.object), &finding);
    if (!is_new && finding.status == Status::kBad) place->second = &finding;
  }
  std::set<Key> well;
  for (const auto& [condition, object] : findings.well) well.insert(key_of(condition, object));
  for (const auto& [key, finding] : found) {
    if (states_.count(key) > 0) continue;
    if (HasRoomFor(key.first)) {
      states_[key].since = now;
    } else {
      ++dropped_;
    }
  }
  for (auto it = states_.begin(); it != states_.end();) {
    auto& [key, state] = *it;
    const auto condition = std::find_if(
        conditions.begin(), conditions.end(),
        [&name = key.first](const WatchedCondition& watched) { return watched.name == name; });
    if (condition == conditions.end()) {
      ++it;
      continue;
    }
    const auto seen = found.find(key);
    const auto whole = found.find(Key(key.first, ""));
    const bool is_unseen = (whole != found.end() && whole->second->status == Status::kUnknown) ||
                           (condition->must_be_seen_well &&
                            state.hysteresis.held() == Status::kBad && well.count(key) == 0);
    const Status status = seen != found.end() ? seen->second->status
                          : is_unseen         ? Status::kUnknown
                                              : Status::kOk;
    const Status held = state.hysteresis.See(status, condition->patience, longest_step, now);
    if (held != state.reported) {
      state.reported = held;
      state.since = now;
    }
    if (seen != found.end() && status == held)
      state.evidence = PlainText(seen->second->evidence, Lines::kOne, kMaxEvidenceBytes);
    it = state.hysteresis.is_idle() ? states_.erase(it) : std::next(it);
  }
}

void ConditionBoard::Forget(absl::string_view condition) {
  for (auto it = states_.begin(); it != states_.end();)
    it = it->first.first == condition ? states_.erase(it) : std::next(it);
  ForgetEvents(condition);
}

void ConditionBoard::Clear(absl::string_view condition, absl::string_view object) {
  const auto is_meant = [&](const auto& entry) {
    return entry.first.first == condition && (object.empty() || entry.first.second == object);
  };
  std::erase_if(states_, is_meant);
  std::erase_if(events_, is_meant);
}

bool ConditionBoard::AddEvent(Event event, absl::Time now) {
  if (event.until <= now) return false;
  event.object = PlainText(event.object, Lines::kOne, kMaxObjectBytes);
  event.evidence = PlainText(event.evidence, Lines::kOne, kMaxEvidenceBytes);
  Key key(event.condition, event.object);
  const auto found = events_.find(key);
  if (found != events_.end()) {
    Event& known = found->second;
    known.until = std::max(known.until, event.until);
    if (event.gravity < known.gravity) return false;
    known.evidence = std::move(event.evidence);
    return event.gravity > std::exchange(known.gravity, event.gravity);
  }
  if (!HasRoomFor(event.condition)) {
    ++dropped_;
    return false;
  }
  event.since = std::min(event.since, now);
  events_.emplace(std::move(key), std::move(event));
  return true;
}

void ConditionBoard::Restore(const ConditionRow& row) {
  if (!HasRoomFor(row.condition)) return;
  State& state = states_[Key(row.condition, row.object)];
  state.hysteresis = Hysteresis(Status::kBad);
  state.reported = Status::kBad;
  state.since = row.since;
  state.evidence = row.evidence;
}

std::vector<ConditionRow> ConditionBoard::BadFindings() const {
  std::vector<ConditionRow> rows;
  for (const auto& [key, state] : states_) {
    if (state.reported == Status::kBad)
      rows.push_back({key.first, key.second, Status::kBad, state.since, state.evidence});
  }
  return rows;
}

void ConditionBoard::ForgetEvents(absl::string_view condition) {
  for (auto it = events_.begin(); it != events_.end();)
    it = it->first.first == condition ? events_.erase(it) : std::next(it);
}

void ConditionBoard::Expire(absl::Time now) {
  for (auto it = events_.begin(); it != events_.end();)
    it = it->second.until <= now ? events_.erase(it) : std::next(it);
}

std::vector<Event> ConditionBoard::Events() const {
  std::vector<Event> events;
  for (const auto& [key, event] : events_) events.push_back(event);
  return events;
}

std::vector<ConditionRow> ConditionBoard::Rows() const {
  std::map<Key, ConditionRow> rows;
  for (const auto& [key, event] : events_) {
    if (!IsDisabled(key.first))
      rows[key] = {key.first, key.second, Status::kBad, event.since, event.evidence};
  }
  for (const auto& [key, state] : states_) {
    if (state.reported == Status::kOk || IsDisabled(key.first)) continue;
    rows.try_emplace(
        key, ConditionRow{key.first, key.second, state.reported, state.since, state.evidence});
  }
  std::vector<ConditionRow> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

}  // namespace muster::agent::health
