// What follows from the health of nodes: holds, their ends, and breakers. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "controller/health/node_health.h"
#include "controller/health/silences.h"
#include "controller/inventory/health_policy.h"
#include "controller/store/tables.h"

namespace muster::controller::health {

// A node whose agent is away longer than this is lost: until then it may be restarting.
inline constexpr absl::Duration kLostAfter = absl::Seconds(15);

// A pass of a suite.
struct Pass {
  std::string suite;
  absl::Time at;
};

// What has become of the rollout that reboots a node.
struct RebootProgress {
  enum Kind {
    kOpen,
    kEnding,    // somebody has called it off; the node may still be rebooting
    kRebooted,  // the node is back
    kFailed,    // its reboot failed, or it did not come back
    kNotTried,  // the rollout is over, and the node was never rebooted
  };
  Kind kind = kOpen;
};

// A node with something to decide.
struct NodeView {
  std::string uuid;
  std::string name;
  bool can_drain = false;   // a worker, and the gate to Slurm is shut
  bool in_service = false;  // Slurm gives it jobs, as far as it is known
  std::string service;      // what the gate says of it; "": nothing
  // An update, a run's reboot or a validation has it: what is bad now may be their work.
  bool is_worked_on = false;
  // A person has drained it, too, and may be at work on it.
  bool is_persons = false;
  std::optional<absl::Time> away_since;  // absent: its agent is connected
  bool has_reported = true;              // since it connected; before that, its words are old
  const NodeHealth* health = nullptr;    // never nullptr
  const HealthRules* rules = nullptr;    // never nullptr
  std::optional<Pass> pass;              // its newest
};

// A node and the name of a condition.
using NodeCondition = std::pair<std::string, std::string>;  // {uuid, name}

struct Situation {
  absl::Time now;
  std::vector<NodeView> nodes;
  std::map<NodeCondition, HealthDrainRecord> drains;
  std::set<NodeCondition> holds;                    // those that conditions have
  std::set<NodeCondition> quarantines;              // of these: only an administrator ends them
  std::map<NodeCondition, RebootProgress> reboots;  // of drains whose reboot is running
  Silences silences;
  std::map<std::string, HealthBreakerRecord> breakers;  // by group
  const std::vector<DrainLimit>* limits = nullptr;      // HealthPolicy::breakers(), never nullptr
  // The rules of any node, by uuid; nullptr: it is not a member any more.
  std::function<const HealthRules*(const std::string&)> rules_of;
};

// What is done about a condition of a node.
struct Answer {
  size_t node = 0;  // of Situation::nodes
  std::string condition;
  Standing standing = Standing::kBad;
  v1::HealthAction action = v1::HEALTH_ACTION_OBSERVE;
  v1::HealthResponse response = v1::HEALTH_RESPONSE_NONE;
  std::string silence_id;                  // of RESPONSE_SILENCED
  std::optional<HealthDrainRecord> drain;  // as it is now
  // The part of the node that has it, too, since a person has acknowledged a drain for others.
  const v1::Condition* further = nullptr;
  std::optional<absl::Time> good_until;  // how long it has to be well
  bool needs_pass = false;               // it was well long enough, and waits for the suite
};

// A hold to put or to end, with the reason for Slurm or for the audit log.
struct HoldChange {
  size_t node = 0;
  std::string condition;
  std::string reason;
  bool is_quarantine = false;  // of a hold to put
};

struct Retest {
  size_t node = 0;
  std::string condition;
  std::string suite;
};

struct DueNodeReboot {
  size_t node = 0;
  std::string condition;
};

struct Decision {
  std::vector<Answer> answers;  // in the order of nodes, then by name
  std::vector<HoldChange> holds;
  std::vector<HoldChange> ends;
  std::vector<HoldChange> in_vain;  // holds that stay because a reboot did not help: new reasons
  std::vector<HealthDrainRecord> drains;  // rows to put
  std::vector<NodeCondition> forgotten;   // rows to remove
  std::vector<Retest> retests;            // nodes that are well again and have to pass
  std::vector<DueNodeReboot> reboots;     // drains whose reboot is to begin now
  std::vector<std::string> call_offs;     // rollouts of reboots that nobody wants any more
  std::vector<HealthBreakerRecord> opened;
  std::vector<HealthBreakerRecord> denied;  // that were open, and keep a node from being drained
  std::vector<std::string> closed;          // groups
  std::map<std::string, uint32_t> counted;  // drained within the window, by the breaker's group
};

// The owner of a hold: "health:gpu_lost".
std::string HoldOwner(absl::string_view condition);
// The condition that is the owner's; nullopt: it is somebody else's.
std::optional<std::string> ConditionOfOwner(absl::string_view owner);

// A condition of the node, as the policy sees it: with kNodeLost, and unknown while the agent is
// away.
Standing StandingOf(const NodeView& node, absl::string_view condition, absl::Time now);

Decision Decide(const Situation& situation);

}  // namespace muster::controller::health
