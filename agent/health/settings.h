// What the controller wants watched, checked.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/health/log_events.h"
#include "common/health/catalogue.h"
#include "common/health/limits.h"

namespace muster::v1 {
class HealthSettings;
class StartCommand;
}  // namespace muster::v1

namespace muster::agent::health {

// A condition of the site's own.
struct SiteCondition {
  std::string name;
  std::vector<std::string> argv;
  absl::Duration interval;
  absl::Duration time_limit;
  muster::health::Severity severity = muster::health::Severity::kWarning;

  bool operator==(const SiteCondition&) const = default;
};

struct Settings {
  muster::health::Limits limits;
  std::set<std::string, std::less<>> disabled;
  XidActions xid_actions;
  std::vector<SiteCondition> sites;
};

// The command that looks at it.
v1::StartCommand SiteCommand(const SiteCondition& site);

inline constexpr size_t kMaxSiteConditions = 32;

// Takes what is valid; `refused` gets a message for each thing that is not. Pure.
Settings ReadSettings(const v1::HealthSettings& message, std::vector<std::string>& refused);

}  // namespace muster::agent::health
