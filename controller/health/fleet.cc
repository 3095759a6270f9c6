#include "controller/health/fleet.h"

#include <algorithm>
#include <utility>

#include "common/base/proto_time.h"
#include "controller/inventory/health_policy.h"

namespace muster::controller::health {

namespace {

// What the controller itself notes in a node's history.
v1::Condition Change(absl::string_view name, v1::ConditionStatus status, const char* evidence,
                     absl::Time since) {
  v1::Condition condition;
  condition.set_name(std::string(name));
  condition.set_status(status);
  condition.set_severity(v1::CONDITION_SEVERITY_FATAL);
  *condition.mutable_since() = ToTimestamp(since);
  condition.set_evidence(evidence);
  return condition;
}

}  // namespace

void Fleet::SetMembers(const std::map<std::string, std::string>& members, absl::Time connects_by) {
  for (auto node = nodes_.begin(); node != nodes_.end();)
    node = members.contains(node->first) ? std::next(node) : nodes_.erase(node);
  std::erase_if(reports_, [&](const auto& each) { return !members.contains(each.first); });
  for (const auto& [uuid, name] : members) {
    const auto [node, is_new] = nodes_.try_emplace(uuid);
    node->second.name = name;
    if (!is_new) continue;
    node->second.uuid = uuid;
    node->second.away_since = connects_by;
    node->second.events_left = kEventsPerMinute;
  }
}

void Fleet::Restore(const HealthReportRecord& stored) {
  const auto node = nodes_.find(stored.node_uuid);
  v1::HealthReport report;
  if (node == nodes_.end() || !report.ParseFromString(stored.report)) return;
  node->second.health.Take(report, watched_, stored.received_at);
}

void Fleet::RestoreBoot(absl::string_view uuid, const std::string& boot_id) {
  const auto node = nodes_.find(uuid);
  if (node != nodes_.end()) node->second.boot_id = boot_id;
}

void Fleet::RestoreLost(absl::string_view uuid) {
  const auto node = nodes_.find(uuid);
  if (node != nodes_.end()) node->second.is_lost = true;
}

bool Fleet::Connect(absl::string_view uuid, absl::Time now, const std::string& boot_id) {
  const auto node = nodes_.find(uuid);
  if (node == nodes_.end()) return false;
  std::string& known = node->second.boot_id;
  if (!boot_id.empty() && boot_id != known) {
    if (!known.empty())
      AddEvents(node->second,
                {Change(kNodeRebooted, v1::CONDITION_STATUS_OK, "the machine was booted", now)},
                now);
    known = boot_id;
  }
  if (std::exchange(node->second.is_lost, false))
    AddEvents(node->second,
              {Change(kNodeLost, v1::CONDITION_STATUS_OK, "its agent answers again", now)}, now);
  node->second.away_since.reset();
  node->second.needs_settings = true;
  node->second.has_reported = false;
  node->second.ask_at = now + kReportPatience;
  node->second.asks_left = kAsks;
  return true;
}

bool Fleet::Disconnect(absl::string_view uuid, absl::Time now) {
  const auto node = nodes_.find(uuid);
  if (node == nodes_.end()) return false;
  if (!node->second.away_since.has_value()) node->second.away_since = std::max(now, connects_by_);
  return true;
}

void Fleet::Excuse(absl::Time now, absl::Time connects_by) {
  connects_by_ = connects_by;
  for (auto& [uuid, node] : nodes_) {
    if (!node.away_since.has_value()) continue;
    node.away_since = node.is_lost ? std::min(*node.away_since, now) : connects_by;
  }
}

void Fleet::NoteLost(absl::Time now, absl::Duration patience) {
  for (auto& [uuid, node] : nodes_) {
    if (node.is_lost || !node.away_since.has_value() || now - *node.away_since < patience) continue;
    if (events_.size() >= kMaxEvents) return;  // the next look has room
    node.is_lost = true;
    node.events_left =
        std::max(node.events_left, 1u);  // one that said too much is lost all the same
    AddEvents(node,
              {Change(kNodeLost, v1::CONDITION_STATUS_BAD, "its agent does not answer",
                      *node.away_since)},
              now);
  }
}

bool Fleet::Take(absl::string_view uuid, const v1::HealthReport& report, absl::Time now) {
  const auto found = nodes_.find(uuid);
  if (found == nodes_.end()) return false;
  FleetNode& node = found->second;
  node.has_reported = true;
  const bool is_first = node.health.reported_at() == absl::InfinitePast();
  const Watched* const watched = &node.health.watched();
  const std::vector<v1::Condition> changes = node.health.Take(report, watched_, now);
  AddEvents(node, changes, now);
  // Ten thousand agents that reconnect say what the store knows already.
  if (!is_first && changes.empty() && watched == &node.health.watched()) return true;
  reports_[node.uuid] = report.SerializeAsString();
  return true;
}

void Fleet::AddEvents(FleetNode& node, const std::vector<v1::Condition>& changes, absl::Time now) {
  if (now - minute_ >= absl::Minutes(1) || now < minute_) {
    minute_ = now;
    for (auto& [uuid, each] : nodes_) each.events_left = kEventsPerMinute;
  }
  for (const v1::Condition& condition : changes) {
    if (node.events_left == 0 || events_.size() >= kMaxEvents) {
      ++dropped_events_;
      continue;
    }
    --node.events_left;
    HealthEventRecord& event = events_.emplace_back();
    event.time = now;
    event.node_uuid = node.uuid;
    event.node = node.name;
    event.condition = condition.name();
    event.event = condition.SerializeAsString();
  }
}

void Fleet::NeedSettings() {
  for (auto& [uuid, node] : nodes_) node.needs_settings = true;
}

void Fleet::SetSettingsSent(absl::string_view uuid) {
  const auto node = nodes_.find(uuid);
  if (node != nodes_.end()) node->second.needs_settings = false;
}

std::vector<std::string> Fleet::ReportsToAskFor(absl::Time now) const {
  std::vector<std::string> nodes;
  for (const auto& [uuid, node] : nodes_) {
    // A clock that was set back must not hold the question up.
    const bool is_due = now >= node.ask_at || node.ask_at - now > kReportPatience;
    if (!node.away_since.has_value() && !node.has_reported && node.asks_left > 0 && is_due)
      nodes.push_back(uuid);
  }
  return nodes;
}

void Fleet::SetAsked(absl::string_view uuid, absl::Time now) {
  const auto node = nodes_.find(uuid);
  if (node == nodes_.end()) return;
  --node->second.asks_left;
  node->second.ask_at = now + kReportPatience;
}

std::vector<HealthReportRecord> Fleet::ReportsToStore() const {
  std::vector<HealthReportRecord> reports;
  for (const auto& [uuid, report] : reports_)
    reports.push_back({uuid, nodes_.find(uuid)->second.health.reported_at(), report});
  return reports;
}

void Fleet::SetStored() {
  reports_.clear();
  events_.clear();
}

}  // namespace muster::controller::health
