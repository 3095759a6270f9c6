// Decides what people are notified of: once, and folded over nodes. Pure.
#pragma once

#include <map>
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
  std::string text;  // one line: what happened, and what was done
};

// Remembers what was said. Not thread-safe.
class Notices {
 public:
  // An earlier process has said that the condition of the node is bad, and not yet that it is over.
  void Remember(const std::string& uuid, const std::string& node, const std::string& condition);
  // What there is to say about a decision.
  std::vector<Notice> Take(const Situation& situation, const Decision& decision);

 private:
  struct Said {
    std::string node;  // its name
    v1::HealthResponse response = v1::HEALTH_RESPONSE_NONE;
    v1::ConditionSeverity severity = v1::CONDITION_SEVERITY_WARNING;
    absl::Time at = absl::InfinitePast();
    bool is_resolved = false;
    bool is_earlier = false;  // said by an earlier process, in words that are not known
  };
  std::map<NodeCondition, Said> said_;
};

}  // namespace muster::controller::health
