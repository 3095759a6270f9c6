#include "controller/health/decision.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "controller/health/breakers.h"

namespace muster::controller::health {
namespace {

using State = HealthDrainRecord::State;
using Reboot = HealthDrainRecord::Reboot;

constexpr absl::string_view kOwnerPrefix = "health:";
constexpr char kDidNotHelp[] = "a reboot did not help";
// As many as a report has: an agent that names ever new ones must not fill the store.
constexpr size_t kMaxKnownParts = 256;

// Decides condition by condition; those that would be drained are left for the breakers.
class Decider {
 public:
  explicit Decider(const Situation& situation)
      : situation_(situation), breakers_(situation, decision_.counted) {}

  Decision Run() {
    for (size_t i = 0; i < situation_.nodes.size(); ++i) {
      for (const std::string& name : NamesOf(situation_.nodes[i])) Take(i, name);
    }
    DrainWanted();
    breakers_.Finish(decision_.opened, decision_.denied, decision_.closed);
    return std::move(decision_);
  }

 private:
  // The conditions of the node that are not well, and those of its rows.
  std::set<std::string> NamesOf(const NodeView& node) const {
    std::set<std::string> names;
    for (const v1::Condition& condition : node.health->conditions()) names.insert(condition.name());
    for (auto row = situation_.drains.lower_bound({node.uuid, ""});
         row != situation_.drains.end() && row->first.first == node.uuid; ++row)
      names.insert(row->first.second);
    for (auto hold = situation_.holds.lower_bound({node.uuid, ""});
         hold != situation_.holds.end() && hold->first == node.uuid; ++hold)
      names.insert(hold->second);
    if (node.away_since.has_value()) names.insert(std::string(kNodeLost));
    return names;
  }

  // The row of the hold, as it is now: a hold that a person has ended is acknowledged.
  std::optional<HealthDrainRecord> RowOf(const NodeView& node, const std::string& name) const {
    const NodeCondition key(node.uuid, name);
    const auto row = situation_.drains.find(key);
    const bool is_held = situation_.holds.contains(key);
    if (row == situation_.drains.end()) {
      if (!is_held) return std::nullopt;
      HealthDrainRecord adopted;  // of a store that was restored from parts
      adopted.node_uuid = node.uuid;
      adopted.condition = name;
      adopted.drained_at = situation_.now;
      adopted.is_quarantine = situation_.quarantines.contains(key);
      return adopted;
    }
    HealthDrainRecord drain = row->second;
    if (drain.state == State::kHeld && !is_held) drain.state = State::kAcknowledged;
    return drain;
  }

  void Take(size_t index, const std::string& name) {
    const NodeView& node = situation_.nodes[index];
    Answer answer;
    answer.node = index;
    answer.condition = name;
    answer.standing = StandingOf(node, name, situation_.now);
    answer.action = node.rules->ActionOf(name);
    const bool drains = Drains(answer.action) && !node.rules->observe_only && node.can_drain;
    answer.drain = RowOf(node, name);
    const HealthSilenceRecord* silence = situation_.silences.Find(node.name, name);
    if (answer.drain.has_value()) TakeRow(node, drains, silence != nullptr, answer);
    if (answer.standing == Standing::kBad && answer.response == v1::HEALTH_RESPONSE_NONE) {
      if (silence != nullptr) {
        answer.response = v1::HEALTH_RESPONSE_SILENCED;
        answer.silence_id = silence->silence_id;
      } else if (drains) {
        wanted_.push_back(decision_.answers.size());
      } else if (Drains(answer.action)) {
        answer.response =
            node.rules->observe_only ? v1::HEALTH_RESPONSE_OBSERVED : v1::HEALTH_RESPONSE_NOTIFIED;
      } else if (answer.action == v1::HEALTH_ACTION_NOTIFY) {
        answer.response = v1::HEALTH_RESPONSE_NOTIFIED;
      }
    }
    const bool says_something =
        answer.standing != Standing::kOk || answer.response != v1::HEALTH_RESPONSE_NONE;
    // An agent that is away for some seconds is nothing to speak of, and neither is a condition
    // that was never reported.
    const bool is_known = answer.standing == Standing::kBad || answer.drain.has_value() ||
                          WorstOf(node.health->conditions(), name) != nullptr;
    if (says_something && is_known) decision_.answers.push_back(std::move(answer));
  }

  // Moves the row on, and says what it means for the condition.
  void TakeRow(const NodeView& node, bool drains, bool is_silenced, Answer& answer) {
    HealthDrainRecord& row = *answer.drain;
    if (row.state == State::kHeld) {
      if (answer.standing != Standing::kUnknown) NoteParts(node, row);
      TakeHeld(node, drains, answer);
    } else if (row.state == State::kAcknowledged) {
      if (answer.standing == Standing::kBad && drains) {
        TakeAcknowledged(node, is_silenced, answer);
      } else if (answer.standing == Standing::kOk || !drains) {
        End(row);
      }
    }
    if (row.state != State::kHeld) EndReboot(row);
    if (row.state == State::kEnded && IsOld(node, row)) {
      decision_.forgotten.emplace_back(row.node_uuid, row.condition);
      answer.drain.reset();
      return;
    }
    const auto stored = situation_.drains.find({node.uuid, answer.condition});
    if (stored == situation_.drains.end() || stored->second != row) decision_.drains.push_back(row);
  }

  // A person knows the parts that are bad, and no others: a second GPU that dies is news.
  void TakeAcknowledged(const NodeView& node, bool is_silenced, Answer& answer) {
    HealthDrainRecord& row = *answer.drain;
    answer.further = FurtherPart(node, row);
    if (answer.further == nullptr) {
      NoteParts(node, row);
      answer.response = v1::HEALTH_RESPONSE_ACKNOWLEDGED;
    } else if (!is_silenced) {
      End(row);
    }
  }

  static const v1::Condition* FurtherPart(const NodeView& node, const HealthDrainRecord& row) {
    if (!row.known_parts.has_value()) return nullptr;
    for (const v1::Condition& condition : node.health->conditions()) {
      if (condition.name() != row.condition || condition.status() != v1::CONDITION_STATUS_BAD ||
          row.known_parts->contains(condition.object()))
        continue;
      // An agent that was restarted may not be able to name a part any more.
      if (condition.object().empty() && !row.known_parts->empty()) continue;
      return &condition;
    }
    return nullptr;
  }

  // A part that is well again is not known any more; one that nobody can look at, or name, is.
  static void NoteParts(const NodeView& node, HealthDrainRecord& row) {
    const auto parts = [&](v1::ConditionStatus status) {
      return PartsOf(node.health->conditions(), row.condition, status);
    };
    std::set<std::string> known = parts(v1::CONDITION_STATUS_BAD);
    if (row.known_parts.has_value()) {
      const std::set<std::string> unknown = parts(v1::CONDITION_STATUS_UNKNOWN);
      const bool is_unnamed = known.contains("");
      for (const std::string& part : *row.known_parts) {
        if (known.size() < kMaxKnownParts && (is_unnamed || unknown.contains(part)))
          known.insert(part);
      }
    }
    row.known_parts = std::move(known);
  }

  void TakeHeld(const NodeView& node, bool drains, Answer& answer) {
    HealthDrainRecord& row = *answer.drain;
    const bool quarantines = drains && answer.action == v1::HEALTH_ACTION_QUARANTINE;
    // What an update makes bad for a while must not need an administrator.
    if (quarantines && !row.is_quarantine && answer.standing == Standing::kBad &&
        !node.is_worked_on) {
      row.is_quarantine = true;
      decision_.holds.push_back({answer.node, answer.condition, ReasonOf(answer), true});
    }
    if (!drains && !row.is_quarantine) {
      End(row);
      decision_.ends.push_back(
          {answer.node, answer.condition, "the policy does not drain for it any more"});
      return;
    }
    answer.response =
        row.is_quarantine ? v1::HEALTH_RESPONSE_QUARANTINED : v1::HEALTH_RESPONSE_DRAINED;
    if (row.is_quarantine && !quarantines) {
      // An administrator has changed the policy, and may let the node go; nobody else does.
      row.is_cleared = true;
      return;
    }
    if (TakeReboot(node, answer)) return;
    if (answer.standing == Standing::kBad) row.is_cleared = false;
    // The proof of a quarantined node stays while nobody can look.
    if (row.is_cleared) return;
    if (answer.standing != Standing::kOk) {
      row.good_since.reset();
      return;
    }
    // A clock that was set back must not keep it out longer.
    if (!row.good_since.has_value() || *row.good_since > situation_.now)
      row.good_since = situation_.now;
    const HealthRules& rules = *node.rules;
    const absl::Duration needed = GoodTime(rules, row);
    if (situation_.now - *row.good_since < needed) {
      if (!row.is_quarantine) answer.response = v1::HEALTH_RESPONSE_RECOVERING;
      answer.good_until = *row.good_since + needed;
      return;
    }
    const bool needs_pass = (row.was_in_service || row.is_quarantine) && !rules.retest.empty();
    const bool has_passed = node.pass.has_value() && node.pass->suite == rules.retest &&
                            node.pass->at >= *row.good_since;
    if (needs_pass && !has_passed) {
      if (!row.is_quarantine) answer.response = v1::HEALTH_RESPONSE_RETESTING;
      answer.needs_pass = true;
      decision_.retests.push_back({answer.node, answer.condition, rules.retest});
      return;
    }
    if (row.is_quarantine) {
      row.is_cleared = true;
      return;
    }
    End(row);
    answer.response = v1::HEALTH_RESPONSE_NONE;
    decision_.ends.push_back({answer.node, answer.condition,
                              needs_pass
                                  ? absl::StrCat("well, and has passed the suite ", rules.retest)
                                  : absl::StrCat("well for ", absl::FormatDuration(needed))});
  }

  // The reboot by which the condition is to be ended. Whether it keeps the drain from going on.
  bool TakeReboot(const NodeView& node, Answer& answer) {
    HealthDrainRecord& row = *answer.drain;
    const bool is_wanted = answer.action == v1::HEALTH_ACTION_REBOOT_ONCE_THEN_DRAIN;
    if (row.reboot == Reboot::kRunning) {
      const RebootProgress::Kind progress = ProgressOf(row);
      if (progress == RebootProgress::kOpen || progress == RebootProgress::kEnding) {
        if (!is_wanted && progress == RebootProgress::kOpen)
          decision_.call_offs.push_back(row.rollout_id);
        answer.response = v1::HEALTH_RESPONSE_REBOOTING;
        row.good_since.reset();
        return true;
      }
      TakeRebootEnd(progress, row);
      if (row.reboot == Reboot::kInVain)
        decision_.in_vain.push_back(
            {answer.node, answer.condition, ReasonOf(answer), row.is_quarantine});
    }
    if (row.reboot == Reboot::kDone && answer.standing == Standing::kBad) {
      // What the node said before the reboot tells nothing about it.
      if (!node.has_reported) {
        answer.response = v1::HEALTH_RESPONSE_REBOOTING;
        return true;
      }
      row.reboot = Reboot::kInVain;
      row.reboot_trouble = kDidNotHelp;
      decision_.in_vain.push_back(
          {answer.node, answer.condition, ReasonOf(answer), row.is_quarantine});
    }
    if (answer.standing == Standing::kOk || row.is_quarantine) return false;
    if (row.reboot == Reboot::kInVain) answer.response = v1::HEALTH_RESPONSE_REBOOT_FAILED;
    if (row.reboot != Reboot::kDue || !is_wanted) return false;
    answer.response = v1::HEALTH_RESPONSE_REBOOTING;
    const bool may_begin = answer.standing == Standing::kBad && !node.is_worked_on &&
                           !node.is_persons &&
                           situation_.silences.Find(node.name, answer.condition) == nullptr;
    if (may_begin) decision_.reboots.push_back({answer.node, answer.condition});
    return false;
  }

  RebootProgress::Kind ProgressOf(const HealthDrainRecord& row) const {
    const auto progress = situation_.reboots.find({row.node_uuid, row.condition});
    return progress == situation_.reboots.end() ? RebootProgress::kOpen : progress->second.kind;
  }

  void TakeRebootEnd(RebootProgress::Kind progress, HealthDrainRecord& row) {
    if (progress != RebootProgress::kNotTried) row.rebooted_at = situation_.now;
    row.reboot = progress == RebootProgress::kRebooted ? Reboot::kDone : Reboot::kInVain;
    if (progress == RebootProgress::kFailed)
      row.reboot_trouble = absl::StrCat("the reboot failed (", row.rollout_id, ")");
    if (progress == RebootProgress::kNotTried)
      row.reboot_trouble = absl::StrCat("not rebooted (", row.rollout_id, ")");
  }

  // Nobody holds the node any more: it must not be rebooted under its next jobs.
  void EndReboot(HealthDrainRecord& row) {
    if (row.reboot == Reboot::kDue) row.reboot = Reboot::kNoReboot;
    if (row.reboot != Reboot::kRunning) return;
    const RebootProgress::Kind progress = ProgressOf(row);
    if (progress == RebootProgress::kOpen) {
      decision_.call_offs.push_back(row.rollout_id);
    } else if (progress != RebootProgress::kEnding) {
      TakeRebootEnd(progress, row);
    }
  }

  // Why the node is held: what was seen, and that a reboot did not help.
  std::string ReasonOf(const Answer& answer) const {
    const NodeView& node = situation_.nodes[answer.node];
    std::string reason = answer.condition == kNodeLost ? "is lost" : "";
    if (const v1::Condition* worst = answer.further != nullptr
                                         ? answer.further
                                         : WorstOf(node.health->conditions(), answer.condition)) {
      reason = absl::StrCat(worst->object(), worst->object().empty() ? "" : ": ",
                            worst->evidence().empty() ? "bad" : worst->evidence());
    }
    const bool is_in_vain = answer.drain.has_value() && answer.drain->reboot == Reboot::kInVain;
    if (!is_in_vain) return reason;
    return absl::StrCat(answer.drain->reboot_trouble, reason.empty() ? "" : ": ", reason);
  }

  // How long the condition has to be well. A node that was out of service when it turned bad, as
  // during an update, is proven by what took it out.
  static absl::Duration GoodTime(const HealthRules& rules, const HealthDrainRecord& row) {
    if (!row.was_in_service && !row.is_quarantine) return absl::ZeroDuration();
    return row.relapses > 0 ? std::max(rules.cool_down, rules.good_time) : rules.good_time;
  }

  void End(HealthDrainRecord& row) {
    row.state = State::kEnded;
    row.ended_at = situation_.now;
    row.good_since.reset();
    row.is_quarantine = row.is_cleared = false;
  }

  // Whether an ended drain counts no more: for a relapse, for the breakers, for its reboot.
  bool IsOld(const NodeView& node, const HealthDrainRecord& row) const {
    absl::Duration kept = node.rules->cool_down;
    for (const size_t breaker : node.rules->breakers)
      kept = std::max(kept, (*situation_.limits)[breaker].window);
    const bool reboot_counts =
        row.reboot == Reboot::kRunning ||
        (row.rebooted_at.has_value() && WasRebootedLately(node, *row.rebooted_at));
    return situation_.now - *row.ended_at > kept && !reboot_counts;
  }

  bool WasRebootedLately(const NodeView& node, absl::Time rebooted_at) const {
    return situation_.now - rebooted_at < node.rules->reboot_interval;
  }

  // Drains those that the breakers let through, the oldest first.
  void DrainWanted() {
    const auto order = [&](size_t index) {
      const Answer& answer = decision_.answers[index];
      const v1::Condition* worst =
          WorstOf(situation_.nodes[answer.node].health->conditions(), answer.condition);
      return std::make_tuple(worst == nullptr ? absl::InfiniteFuture() : ToTime(worst->since()),
                             situation_.nodes[answer.node].name, answer.condition);
    };
    std::sort(wanted_.begin(), wanted_.end(),
              [&](size_t a, size_t b) { return order(a) < order(b); });
    std::vector<const NodeView*> served;
    for (const size_t index : wanted_) {
      const NodeView& node = situation_.nodes[decision_.answers[index].node];
      if (TakesFromService(node)) served.push_back(&node);
    }
    breakers_.Ask(served);
    for (const size_t index : wanted_) {
      Answer& answer = decision_.answers[index];
      const NodeView& node = situation_.nodes[answer.node];
      if (TakesFromService(node) && !breakers_.MayDrain(node)) {
        answer.response = v1::HEALTH_RESPONSE_BREAKER;
        continue;
      }
      Drain(node, answer);
    }
  }

  // A node that is out of service already, or that another condition has just drained, can be held
  // without taking anything from anybody.
  bool TakesFromService(const NodeView& node) const {
    const auto hold = situation_.holds.lower_bound({node.uuid, ""});
    const bool is_held = hold != situation_.holds.end() && hold->first == node.uuid;
    return node.in_service && !is_held;
  }

  void Drain(const NodeView& node, Answer& answer) {
    HealthDrainRecord row;
    if (answer.drain.has_value() &&
        situation_.now - answer.drain->ended_at.value_or(situation_.now) <= node.rules->cool_down)
      row.relapses = answer.drain->relapses + 1;
    row.node_uuid = node.uuid;
    row.condition = answer.condition;
    row.drained_at = situation_.now;
    row.was_in_service = TakesFromService(node);
    NoteParts(node, row);
    answer.response = v1::HEALTH_RESPONSE_DRAINED;
    if (answer.drain.has_value()) row.rebooted_at = answer.drain->rebooted_at;
    if (answer.action == v1::HEALTH_ACTION_QUARANTINE && !node.is_worked_on) {
      row.is_quarantine = true;
      answer.response = v1::HEALTH_RESPONSE_QUARANTINED;
    } else if (answer.action == v1::HEALTH_ACTION_REBOOT_ONCE_THEN_DRAIN) {
      const bool is_in_vain =
          row.rebooted_at.has_value() && WasRebootedLately(node, *row.rebooted_at);
      row.reboot = is_in_vain ? Reboot::kInVain : Reboot::kDue;
      if (is_in_vain) row.reboot_trouble = kDidNotHelp;
      answer.response =
          is_in_vain ? v1::HEALTH_RESPONSE_REBOOT_FAILED : v1::HEALTH_RESPONSE_REBOOTING;
    }
    answer.drain = row;
    decision_.holds.push_back({answer.node, answer.condition, ReasonOf(answer), row.is_quarantine});
    decision_.drains.push_back(std::move(row));
  }

  const Situation& situation_;
  Decision decision_;
  Breakers breakers_;
  std::vector<size_t> wanted_;  // answers
};

}  // namespace

std::string HoldOwner(absl::string_view condition) { return absl::StrCat(kOwnerPrefix, condition); }

std::optional<std::string> ConditionOfOwner(absl::string_view owner) {
  if (!absl::ConsumePrefix(&owner, kOwnerPrefix)) return std::nullopt;
  return std::string(owner);
}

Standing StandingOf(const NodeView& node, absl::string_view condition, absl::Time now) {
  if (condition == kNodeLost) {
    if (!node.away_since.has_value()) return Standing::kOk;
    return now - *node.away_since >= kLostAfter ? Standing::kBad : Standing::kUnknown;
  }
  return node.away_since.has_value() ? Standing::kUnknown : node.health->StandingOf(condition);
}

Decision Decide(const Situation& situation) { return Decider(situation).Run(); }

}  // namespace muster::controller::health
