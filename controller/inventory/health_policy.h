// What the cluster does about the health of its nodes: the section `health:`, resolved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/v1/health.pb.h"

namespace muster::controller {

struct Node;

// The condition of a node whose agent does not speak any more, which no agent can report.
inline constexpr absl::string_view kNodeLost = "node_lost";
// In the history, where a machine was booted; nothing is wrong with it.
inline constexpr absl::string_view kNodeRebooted = "node_rebooted";

// "observe", "notify", "drain", "reboot_once_then_drain", "quarantine".
absl::string_view HealthActionName(v1::HealthAction action);
// Returns "" and sets *out, or describes the fault.
std::string ParseHealthAction(absl::string_view word, v1::HealthAction* out);
// Whether the action takes a node out of Slurm.
inline bool Drains(v1::HealthAction action) { return action >= v1::HEALTH_ACTION_DRAIN; }

// What holds for one node. Immutable; nodes of equal groups share it.
struct HealthRules {
  // What is written; the catalogue says the rest.
  std::map<std::string, v1::HealthAction, std::less<>> conditions;
  bool observe_only = false;
  // The suite that a node has to pass before its drain ends; "": none.
  std::string retest;
  // How long a condition has to be well before its drain ends; a site without a suite waits longer.
  absl::Duration good_time = absl::Minutes(5);
  // A condition that returns within this time after its drain has to be well as long as this, and
  // one that comes and goes is notified once in it.
  absl::Duration cool_down = absl::Minutes(30);
  // A condition for which the node was rebooted within this time is not rebooted for again.
  absl::Duration reboot_interval = absl::Hours(24);
  // Those of HealthPolicy::breakers that cover the node.
  std::vector<size_t> breakers;
  // What its agent is told.
  v1::HealthSettings settings;

  // What is done about a bad condition of that name. One that neither the site nor the catalogue
  // knows, as of a newer agent or a hostile node, is only observed.
  v1::HealthAction ActionOf(absl::string_view condition) const;
};

// So many workers of a group may be drained for their health within the window.
struct DrainLimit {
  std::string group;  // "all": every worker
  uint32_t max_drained = 1;
  absl::Duration window = absl::Minutes(10);
};

// The limit of a cluster that sets none: of 6 workers 2, of 6,000 workers 120.
uint32_t DefaultMaxDrained(size_t workers);

// Immutable once the inventory is parsed.
class HealthPolicy {
 public:
  // nullptr: no such node.
  const HealthRules* RulesOf(absl::string_view node) const;
  // The first is that of all workers; there is always one.
  const std::vector<DrainLimit>& breakers() const { return breakers_; }
  // Whether the site has a condition of its own by this name, or the catalogue has one.
  bool Knows(absl::string_view condition) const;
  // " (did you mean 'x'?)", or "" when nothing known is near.
  std::string DidYouMean(absl::string_view condition) const;
  // What was written, by group; an empty object: nothing.
  const nlohmann::ordered_json& written() const { return written_; }

 private:
  friend class HealthPolicyReader;

  std::vector<DrainLimit> breakers_;
  std::map<std::string, std::string, std::less<>> own_;  // the site's conditions, and their place
  absl::flat_hash_map<std::string, std::shared_ptr<const HealthRules>> rules_;  // by node
  nlohmann::ordered_json written_ = nlohmann::ordered_json::object();
};

}  // namespace muster::controller
