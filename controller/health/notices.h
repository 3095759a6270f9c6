// Decides what people are notified of: once, and folded over nodes. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/health/decision.h"

namespace muster::controller::health {

// The kind of the notifications about conditions; a row of notify/kinds.
inline constexpr absl::string_view kConditionKind = "health.condition";

// Something for people outside.
struct Notice {
  std::string condition;  // its name; of a breaker: its group
  bool is_breaker = false;
  bool is_resolved = false;
  v1::ConditionSeverity severity = v1::CONDITION_SEVERITY_WARNING;
  std::vector<std::string> nodes;
  // One line without the nodes: what happened, and what was done. Nodes of which the same is to be
  // said have the same text.
  std::string text;
};

// "c[1-2]: gpu_lost: it does not answer; drained".
std::string Line(const Notice& notice);

// Remembers what was said. A condition that comes back within its cool-down is told only if it is
// still bad after that; each part of a node has a cool-down of its own. Not thread-safe.
class Notices {
 public:
  // So many parts are remembered for each condition of a node. Further ones are no news, however
  // often their names change.
  static constexpr size_t kMaxParts = 64;

  // An earlier process has said that the condition of the node is bad, and not yet that it is over.
  void Remember(const std::string& uuid, const std::string& node, const std::string& condition);
  // What there is to say about a decision.
  std::vector<Notice> Take(const Situation& situation, const Decision& decision);

 private:
  using Parts = std::set<std::string>;
  struct SaidPart {
    absl::Time at;
    bool is_well = false;  // it has been since
  };
  struct Said {
    std::string node;  // its name
    v1::HealthResponse response = v1::HEALTH_RESPONSE_NONE;
    v1::ConditionSeverity severity = v1::CONDITION_SEVERITY_WARNING;
    absl::Time at = absl::InfinitePast();
    std::map<std::string, SaidPart> parts;
    bool is_resolved = false;
    bool is_earlier = false;  // said by an earlier process, in words that are not known

    void SetSaid(const Parts& bad, absl::Time now);
    void SetWell(const Parts& not_well, absl::Duration cool_down, absl::Time now);
    // The bad parts that were not told, or not lately.
    Parts NewsOf(const Parts& bad, absl::Duration cool_down, absl::Time now) const;
  };
  std::map<NodeCondition, Said> said_;
};

}  // namespace muster::controller::health
