#include "controller/health/health_monitor.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/slurm_state.h"
#include "controller/audit/audit.h"
#include "controller/gate/job_gate.h"
#include "controller/inventory/inventory.h"
#include "controller/session/fleet_pace.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller::health {
namespace {

constexpr absl::Duration kMembersInterval = absl::Seconds(30);
// An open breaker that is in the way again is noted this often.
constexpr absl::Duration kDeniedInterval = absl::Minutes(1);
// The rows of the history that are read to know which nodes it calls lost.
constexpr uint32_t kMaxLostRead = 50'000;
constexpr uint32_t kNoticesAtOnce = 1000;

// The rules of a member that the inventory does not have any more.
const HealthRules& DefaultRules() {
  static const HealthRules& rules = *new HealthRules();
  return rules;
}

const std::vector<DrainLimit>& NoLimits() {
  static const std::vector<DrainLimit>& none = *new std::vector<DrainLimit>();
  return none;
}

// Whether the hold is that of a rollout or a run.
bool IsWork(absl::string_view owner) {
  return absl::StartsWith(owner, "u-") || absl::StartsWith(owner, "r-");
}

// Whether the gate says of the node that a person has drained it, or taken it down. What slurmctld
// has taken down itself may be what the reboot is for.
bool IsPersons(absl::string_view service, const std::string& uuid,
               const std::set<NodeCondition>& holds) {
  if (!absl::ConsumePrefix(&service, "drained by ") &&
      !absl::ConsumePrefix(&service, "taken down by "))
    return false;
  const std::string owner(service.substr(0, service.find(':')));
  return owner != kSlurmUser && !IsWork(owner) && !holds.contains({uuid, owner});
}

// One entry of the audit log for all nodes that a condition drains, or lets go.
absl::Status AuditHolds(Transaction& txn, absl::Time now, const Situation& situation,
                        const std::vector<HoldChange>& changes, absl::string_view action) {
  struct Entry {
    std::vector<std::string> nodes;
    std::string reason;  // of the first of them
  };
  std::map<std::string, Entry> entries;
  for (const HoldChange& change : changes) {
    Entry& entry = entries[change.condition];
    if (entry.nodes.empty()) entry.reason = change.reason;
    entry.nodes.push_back(situation.nodes[change.node].name);
  }
  for (auto& [condition, entry] : entries) {
    RETURN_IF_ERROR(Audit(txn, now, ControllerActor(), action, FoldHostlist(entry.nodes),
                          absl::StrCat(condition, ": ", entry.reason)));
  }
  return absl::OkStatus();
}

absl::Status PutHolds(Transaction& txn, absl::Time now, const Situation& situation,
                      const std::vector<HoldChange>& holds, absl::string_view action) {
  for (const HoldChange& hold : holds) {
    RETURN_IF_ERROR(
        txn.node_holds().Put({situation.nodes[hold.node].uuid, HoldOwner(hold.condition),
                              hold.reason, now, hold.is_quarantine}));
  }
  return AuditHolds(txn, now, situation, holds, action);
}

}  // namespace

HealthMonitor::HealthMonitor(HealthCollaborators collaborators)
    : with_(std::move(collaborators)),
      remedies_(with_.store, mutex_, with_.start_validation, with_.reboot, with_.clock),
      worker_(with_.clock, [this] { return Step(); }) {}

HealthMonitor::~HealthMonitor() { Stop(); }

void HealthMonitor::Start() {
  worker_.Start();
  remedies_.Start();
}

void HealthMonitor::Stop() {
  worker_.Stop();
  remedies_.Stop();
}

absl::Status HealthMonitor::Resume() {
  absl::MutexLock lock(&mutex_);
  silence_.OnSweep(with_.clock.Now());
  return with_.store.View([this](Transaction& txn) -> absl::Status {
    mutex_.AssertHeld();
    RETURN_IF_ERROR(ReadMembers(txn));
    ASSIGN_OR_RETURN(const std::vector<HealthReportRecord> reports, txn.health().ListReports());
    for (const HealthReportRecord& report : reports) fleet_.Restore(report);
    RETURN_IF_ERROR(RestoreNotices(txn));
    return RestoreHistory(txn);
  });
}

// The reports do not tell what people have heard of: not of a node that is lost, and of what was
// silenced or being worked on when it turned bad only later.
absl::Status HealthMonitor::RestoreNotices(Transaction& txn) {
  std::map<std::string, std::string> uuids;  // by name
  for (const auto& [uuid, node] : fleet_.nodes()) uuids[node.name] = uuid;
  for (uint64_t after = 0;;) {
    ASSIGN_OR_RETURN(const std::vector<NotificationRecord> lasting,
                     txn.notifications().ListLasting(after, kNoticesAtOnce));
    for (const NotificationRecord& row : lasting) {
      after = row.sequence;
      const auto node = uuids.find(row.nodes);  // notifications that last are about one node each
      if (row.kind != kConditionKind || node == uuids.end()) continue;
      notices_.Remember(node->second, node->first, row.subject);
    }
    if (lasting.size() < kNoticesAtOnce) return absl::OkStatus();
  }
}

absl::Status HealthMonitor::RestoreHistory(Transaction& txn) {
  ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
  for (const NodeRecord& node : nodes) fleet_.RestoreBoot(node.uuid, node.boot_id);
  ASSIGN_OR_RETURN(const std::vector<HealthEventRecord> events,
                   txn.health().ListEvents("", kNodeLost, kMaxLostRead));
  std::set<std::string> seen;
  for (const HealthEventRecord& event : events) {
    v1::Condition condition;
    const bool is_newest = seen.insert(event.node_uuid).second;
    if (is_newest && condition.ParseFromString(event.event) &&
        condition.status() == v1::CONDITION_STATUS_BAD)
      fleet_.RestoreLost(event.node_uuid);
  }
  return absl::OkStatus();
}

HealthMonitor::News& HealthMonitor::NewsOf(absl::string_view uuid) {
  return news_[std::string(uuid)];
}

void HealthMonitor::OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {
  {
    absl::MutexLock lock(&news_mutex_);
    News& news = NewsOf(node_uuid);
    news = News();  // what came in an earlier session is older than what comes in this one
    news.has_begun = true;
    news.boot_id = hello.boot_id();
  }
  worker_.Wake();
}

void HealthMonitor::OnDisconnected(absl::string_view node_uuid) {
  {
    absl::MutexLock lock(&news_mutex_);
    NewsOf(node_uuid).is_away = true;
  }
  worker_.Wake();
}

void HealthMonitor::OnHealth(absl::string_view node_uuid, const v1::HealthReport& report) {
  auto copy = std::make_unique<v1::HealthReport>(report);
  {
    absl::MutexLock lock(&news_mutex_);
    NewsOf(node_uuid).report = std::move(copy);
  }
  worker_.Wake();
}

absl::Time HealthMonitor::Step() {
  const absl::Time before = with_.clock.Now();
  if (before < pause_until_ && pause_until_ - before <= kPause) return pause_until_;
  Work work;
  const absl::Status earlier = std::exchange(looked_, Look(work));
  if (!looked_.ok() && looked_ != earlier && with_.warn)
    with_.warn(absl::StrCat("health: ", looked_.message()));
  if (with_.notify) {
    for (const Notice& notice : work.notices) with_.notify(notice);
  }
  if (looked_.ok()) remedies_.Set(std::move(work.due));
  const absl::Time now = with_.clock.Now();
  pause_until_ = now + kPause;
  return now + (is_busy_ ? kBusyInterval : kIdleInterval);
}

absl::Status HealthMonitor::Look(Work& work) {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = with_.clock.Now();
  NoteOwnPause(now);
  RETURN_IF_ERROR(ReadPolicy());
  // Nobody waits for the answer of a machine that has just joined: the next look knows it.
  if (now - members_read_at_ >= kMembersInterval || now < members_read_at_) {
    RETURN_IF_ERROR(with_.store.View([this](Transaction& txn) {
      mutex_.AssertHeld();
      return ReadMembers(txn);
    }));
    members_read_at_ = now;
  }
  TakeNews();
  fleet_.NoteLost(now, kLostAfter);
  SendSettings();
  AskForReports();
  // What the store does not take now is offered again; the decisions below need it first.
  RETURN_IF_ERROR(StoreNews());
  absl::StatusOr<Situation> situation = absl::UnknownError("");
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    mutex_.AssertHeld();
    situation = ReadSituation(txn, /*all_nodes=*/false);
    return situation.status();
  }));
  const Decision decision = Decide(*situation);
  RETURN_IF_ERROR(Apply(*situation, decision));
  work.notices = notices_.Take(*situation, decision);
  work.due.call_offs = decision.call_offs;
  const auto answer_of = [&](size_t node, const std::string& condition) {
    return std::find_if(decision.answers.begin(), decision.answers.end(), [&](const auto& each) {
      return each.node == node && each.condition == condition;
    });
  };
  for (const Retest& retest : decision.retests) {
    const auto answer = answer_of(retest.node, retest.condition);
    const NodeView& node = situation->nodes[retest.node];
    work.due.retests[{node.uuid, retest.condition}] = {node.name, retest.suite, *answer->drain};
  }
  for (const DueNodeReboot& due : decision.reboots) {
    const auto answer = answer_of(due.node, due.condition);
    const NodeView& node = situation->nodes[due.node];
    work.due.reboots[{node.uuid, due.condition}] = {node.name, *answer->drain};
  }
  is_busy_ = !situation->nodes.empty() || !situation->drains.empty() ||
             !situation->breakers.empty() || !fleet_.events().empty();
  return absl::OkStatus();
}

absl::Status HealthMonitor::ReadMembers(Transaction& txn) {
  ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
  std::map<std::string, std::string> members;
  for (const NodeRecord& node : nodes) {
    if (node.state == NodeRecord::kEnrolled || node.state == NodeRecord::kConfigured)
      members[node.uuid] = node.name;
  }
  fleet_.SetMembers(members, std::max(with_.clock.Now(), ConnectBy(members.size())));
  return absl::OkStatus();
}

absl::Time HealthMonitor::ConnectBy(size_t nodes) const {
  return silence_.resumed_at() + kStartGrace + ReconnectSpread(nodes);
}

void HealthMonitor::NoteOwnPause(absl::Time now) {
  const absl::Time before = silence_.resumed_at();
  silence_.OnSweep(now);
  if (silence_.resumed_at() != before) fleet_.Excuse(now, ConnectBy(fleet_.nodes().size()));
}

absl::Status HealthMonitor::ReadPolicy() {
  auto latest = with_.latest_inventory();
  if (absl::IsNotFound(latest.status())) return absl::OkStatus();
  RETURN_IF_ERROR(latest.status());
  if (inventory_ != nullptr && revision_ == latest->first) return absl::OkStatus();
  if (inventory_ != nullptr) fleet_.NeedSettings();
  revision_ = latest->first;
  inventory_ = std::move(latest->second);
  return absl::OkStatus();
}

void HealthMonitor::TakeNews() {
  absl::flat_hash_map<std::string, News> news;
  {
    absl::MutexLock lock(&news_mutex_);
    news.swap(news_);
  }
  const absl::Time now = with_.clock.Now();
  bool has_strangers = false;
  for (const auto& [uuid, each] : news) has_strangers |= !fleet_.nodes().contains(uuid);
  absl::Status read;
  if (has_strangers) {
    read = with_.store.View([this](Transaction& txn) {
      mutex_.AssertHeld();
      return ReadMembers(txn);
    });
  }
  for (auto& [uuid, each] : news) {
    if (!read.ok() && !fleet_.nodes().contains(uuid)) {
      // With the next look, unless there is newer news of it.
      absl::MutexLock lock(&news_mutex_);
      news_.try_emplace(uuid, std::move(each));
      continue;
    }
    if (each.has_begun) fleet_.Connect(uuid, now, each.boot_id);
    if (each.report != nullptr) fleet_.Take(uuid, *each.report, now);
    if (each.is_away) fleet_.Disconnect(uuid, now);
  }
}

absl::Status HealthMonitor::StoreNews() {
  const std::vector<HealthReportRecord> reports = fleet_.ReportsToStore();
  if (reports.empty() && fleet_.events().empty()) return absl::OkStatus();
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    mutex_.AssertHeld();
    for (const HealthReportRecord& report : reports)
      RETURN_IF_ERROR(txn.health().PutReport(report));
    for (const HealthEventRecord& event : fleet_.events())
      RETURN_IF_ERROR(txn.health().AppendEvent(event));
    return absl::OkStatus();
  }));
  fleet_.SetStored();
  return absl::OkStatus();
}

const HealthRules* HealthMonitor::RulesOf(const std::string& node) const {
  const HealthRules* rules = inventory_ == nullptr ? nullptr : inventory_->health().RulesOf(node);
  return rules == nullptr ? &DefaultRules() : rules;
}

void HealthMonitor::SendSettings() {
  std::vector<std::string> sent;
  for (const auto& [uuid, node] : fleet_.nodes()) {
    if (!node.needs_settings || node.away_since.has_value()) continue;
    v1::ControllerMessage message;
    *message.mutable_health_settings() = RulesOf(node.name)->settings;
    // A node that does not read gets them with a later look.
    if (with_.sessions.Send(uuid, message).ok()) sent.push_back(uuid);
  }
  for (const std::string& uuid : sent) fleet_.SetSettingsSent(uuid);
}

void HealthMonitor::AskForReports() {
  const absl::Time now = with_.clock.Now();
  for (const std::string& uuid : fleet_.ReportsToAskFor(now)) {
    v1::ControllerMessage message;
    message.mutable_ask_health();
    // A node that does not read is asked later.
    if (with_.sessions.Send(uuid, message).ok()) fleet_.SetAsked(uuid, now);
  }
}

HealthMonitor::Bad HealthMonitor::FindBad(const absl::flat_hash_set<std::string>& names,
                                          absl::string_view condition, absl::string_view object) {
  Bad bad;
  absl::MutexLock lock(&mutex_);
  for (const auto& [uuid, node] : fleet_.nodes()) {
    if (!names.contains(node.name)) continue;
    const std::vector<v1::Condition>& all = node.health.conditions();
    const bool is_bad = std::any_of(all.begin(), all.end(), [&](const v1::Condition& each) {
      return each.name() == condition && each.status() == v1::CONDITION_STATUS_BAD &&
             (object.empty() || each.object() == object);
    });
    if (is_bad) (node.away_since.has_value() ? bad.away : bad.connected).push_back(node.name);
  }
  return bad;
}

std::vector<std::string> HealthMonitor::Clear(const std::vector<std::string>& names,
                                              const v1::ClearHealth& message) {
  const absl::flat_hash_set<std::string> meant(names.begin(), names.end());
  v1::ControllerMessage order;
  *order.mutable_clear_health() = message;
  std::vector<std::string> told;
  absl::MutexLock lock(&mutex_);
  for (const auto& [uuid, node] : fleet_.nodes()) {
    if (meant.contains(node.name) && with_.sessions.Send(uuid, order).ok())
      told.push_back(node.name);
  }
  return told;
}

NodeView HealthMonitor::ViewOf(const FleetNode& node) const {
  NodeView view;
  view.uuid = node.uuid;
  view.name = node.name;
  view.away_since = node.away_since;
  view.has_reported = node.has_reported;
  view.health = &node.health;
  view.rules = RulesOf(node.name);
  view.service = with_.gate.ServiceOf(node.name);
  // Before the gate has looked at Slurm, a node may have jobs.
  view.in_service = view.service.empty() || absl::StartsWith(view.service, "in service");
  const Node* known = inventory_ == nullptr ? nullptr : inventory_->FindNode(node.name);
  view.can_drain = known != nullptr && known->role == NodeRole::kCompute && with_.gate.is_shut();
  return view;
}

absl::StatusOr<Situation> HealthMonitor::ReadSituation(Transaction& txn, bool all_nodes) {
  Situation situation;
  situation.now = with_.clock.Now();
  absl::flat_hash_set<std::string> concerned, worked_on, persons;
  ASSIGN_OR_RETURN(const std::vector<HealthDrainRecord> drains, txn.health().ListDrains());
  for (const HealthDrainRecord& drain : drains) {
    concerned.insert(drain.node_uuid);
    const NodeCondition key(drain.node_uuid, drain.condition);
    situation.drains[key] = drain;
    if (drain.reboot != HealthDrainRecord::kRunning) continue;
    ASSIGN_OR_RETURN(situation.reboots[key], ReadReboot(txn, drain));
  }
  ASSIGN_OR_RETURN(const std::vector<NodeHoldRecord> holds, txn.node_holds().List());
  for (const NodeHoldRecord& hold : holds) {
    const std::optional<std::string> condition = ConditionOfOwner(hold.owner);
    if (!condition.has_value()) {
      (IsWork(hold.owner) ? worked_on : persons).insert(hold.node_uuid);
      continue;
    }
    concerned.insert(hold.node_uuid);
    situation.holds.emplace(hold.node_uuid, *condition);
    if (hold.is_quarantine) situation.quarantines.emplace(hold.node_uuid, *condition);
  }
  ASSIGN_OR_RETURN(std::vector<HealthSilenceRecord> silences, txn.health().ListSilences());
  situation.silences = Silences(std::move(silences), situation.now);
  ASSIGN_OR_RETURN(const std::vector<HealthBreakerRecord> breakers, txn.health().ListBreakers());
  for (const HealthBreakerRecord& breaker : breakers) situation.breakers[breaker.group] = breaker;
  situation.limits = inventory_ == nullptr ? &NoLimits() : &inventory_->health().breakers();
  situation.rules_of = [this](const std::string& uuid) -> const HealthRules* {
    mutex_.AssertHeld();
    const auto node = fleet_.nodes().find(uuid);
    return node == fleet_.nodes().end() ? nullptr : RulesOf(node->second.name);
  };
  for (const auto& [uuid, node] : fleet_.nodes()) {
    const bool has_drain = concerned.contains(uuid);
    if (!all_nodes && !has_drain && !node.away_since.has_value() &&
        node.health.conditions().empty())
      continue;
    NodeView& view = situation.nodes.emplace_back(ViewOf(node));
    view.is_worked_on =
        worked_on.contains(uuid) || absl::StartsWith(view.service, "being validated");
    view.is_persons = persons.contains(uuid) || IsPersons(view.service, uuid, situation.holds);
    if (!has_drain || view.rules->retest.empty()) continue;
    const absl::StatusOr<NodePassRecord> pass = txn.node_service().GetPass(uuid);
    if (pass.ok()) view.pass = Pass{pass->suite, pass->passed_at};
    if (!pass.ok() && !absl::IsNotFound(pass.status())) return pass.status();
  }
  return situation;
}

absl::Status HealthMonitor::Apply(const Situation& situation, const Decision& decision) {
  std::vector<NodeCondition> gone;  // of machines that are no members any more
  for (const auto& [key, drain] : situation.drains) {
    if (situation.rules_of(key.first) == nullptr) gone.push_back(key);
  }
  std::vector<HealthBreakerRecord> breakers = decision.opened;
  for (const HealthBreakerRecord& breaker : decision.denied) {
    if (breaker.denied_at - situation.breakers.at(breaker.group).denied_at >= kDeniedInterval)
      breakers.push_back(breaker);
  }
  if (decision.holds.empty() && decision.ends.empty() && decision.drains.empty() &&
      decision.in_vain.empty() && decision.forgotten.empty() && breakers.empty() &&
      decision.closed.empty() && gone.empty())
    return absl::OkStatus();
  const absl::Time now = situation.now;
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    for (const auto& [uuid, condition] : decision.forgotten)
      RETURN_IF_ERROR(txn.health().RemoveDrain(uuid, condition));
    for (const auto& [uuid, condition] : gone) {
      RETURN_IF_ERROR(txn.node_holds().Delete(uuid, HoldOwner(condition)));
      RETURN_IF_ERROR(txn.health().RemoveDrain(uuid, condition));
      RETURN_IF_ERROR(txn.health().RemoveReport(uuid));
    }
    for (const HealthDrainRecord& drain : decision.drains)
      RETURN_IF_ERROR(txn.health().PutDrain(drain));
    std::vector<HoldChange> drains, quarantines;
    for (const HoldChange& hold : decision.holds)
      (hold.is_quarantine ? quarantines : drains).push_back(hold);
    RETURN_IF_ERROR(PutHolds(txn, now, situation, drains, "health.drain"));
    RETURN_IF_ERROR(PutHolds(txn, now, situation, quarantines, "health.quarantine"));
    RETURN_IF_ERROR(PutHolds(txn, now, situation, decision.in_vain, "health.reboot_failed"));
    for (const HoldChange& end : decision.ends) {
      RETURN_IF_ERROR(
          txn.node_holds().Delete(situation.nodes[end.node].uuid, HoldOwner(end.condition)));
    }
    RETURN_IF_ERROR(AuditHolds(txn, now, situation, decision.ends, "health.resume"));
    for (const HealthBreakerRecord& breaker : breakers)
      RETURN_IF_ERROR(txn.health().PutBreaker(breaker));
    for (const HealthBreakerRecord& breaker : decision.opened) {
      RETURN_IF_ERROR(Audit(txn, now, ControllerActor(), "health.breaker_open", breaker.group,
                            "too many nodes are bad at once; no more are drained"));
    }
    for (const std::string& group : decision.closed) {
      RETURN_IF_ERROR(txn.health().RemoveBreaker(group));
      RETURN_IF_ERROR(Audit(txn, now, ControllerActor(), "health.breaker_close", group));
    }
    return absl::OkStatus();
  }));
  if (!decision.holds.empty() || !decision.ends.empty() || !decision.in_vain.empty())
    with_.gate.Wake();
  return absl::OkStatus();
}

absl::StatusOr<HealthSummary> HealthMonitor::Summarize(bool all_nodes) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(ReadPolicy());
  absl::StatusOr<Situation> situation = absl::UnknownError("");
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    mutex_.AssertHeld();
    situation = ReadSituation(txn, all_nodes);
    return situation.status();
  }));
  std::sort(situation->nodes.begin(), situation->nodes.end(),
            [](const NodeView& a, const NodeView& b) { return a.name < b.name; });
  HealthSummary summary =
      MakeSummary(*situation, Decide(*situation),
                  {[this](const NodeCondition& key) { return remedies_.RetestWaitsFor(key); },
                   [this](const NodeCondition& key) { return remedies_.RebootWaitsFor(key); }});
  summary.dropped_events = fleet_.dropped_events();
  return summary;
}

}  // namespace muster::controller::health
