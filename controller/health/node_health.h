// What one node says about its health. Pure.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/v1/health.pb.h"

namespace muster::controller::health {

enum class Standing {
  kOk,
  kBad,      // one part of the node at least
  kUnknown,  // not watched, or its probe failed: neither drains a node nor clears it
};

using Watched = std::set<std::string, std::less<>>;

// The names that are watched are the same for most nodes, which share them.
class WatchedSets {
 public:
  std::shared_ptr<const Watched> Share(const v1::HealthReport& report);

 private:
  std::set<std::shared_ptr<const Watched>,
           bool (*)(const std::shared_ptr<const Watched>&, const std::shared_ptr<const Watched>&)>
      sets_{[](const auto& a, const auto& b) { return *a < *b; }};
};

// The conditions of the last report.
class NodeHealth {
 public:
  // Takes a report, which follows the rules of common/wire, and returns what has changed: new
  // conditions, those of another status, and those that are well now. `now`: no condition is from
  // the future, whatever the node's clock says.
  std::vector<v1::Condition> Take(const v1::HealthReport& report, WatchedSets& sets,
                                  absl::Time now);

  Standing StandingOf(absl::string_view name) const;
  // Those that are bad or unknown, by name and object.
  const std::vector<v1::Condition>& conditions() const { return conditions_; }
  const Watched& watched() const { return *watched_; }
  absl::Time reported_at() const { return reported_at_; }

 private:
  std::vector<v1::Condition> conditions_;
  std::shared_ptr<const Watched> watched_ = std::make_shared<const Watched>();
  absl::Time reported_at_ = absl::InfinitePast();
};

// The worst of the conditions with this name: bad before unknown, fatal before a warning, the
// oldest first. nullptr: there is none.
const v1::Condition* WorstOf(const std::vector<v1::Condition>& conditions, absl::string_view name);

// The parts of the node, "" being the whole of it, that have the condition in this status.
std::set<std::string> PartsOf(const std::vector<v1::Condition>& conditions, absl::string_view name,
                              v1::ConditionStatus status);

}  // namespace muster::controller::health
