// What the page is made from.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {
class Clock;
}

namespace muster::controller {

namespace rollout {
class RolloutManager;
}
namespace validation {
class ValidationManager;
}
class CallDurations;
class CallShares;
class Denylist;
class EventService;
class HealthService;
class Inventory;
class NodeService;
class ReadingService;
class RolloutService;
class RunManager;
class RunService;
class Store;
class TimelineService;
class ValidationService;
class WebSessions;
struct Identity;

// All must be thread-safe and outlive the page.
struct WebCollaborators {
  Store& store;
  Clock& clock;
  const Denylist& denylist;
  CallShares& shares;
  CallDurations& durations;
  WebSessions& sessions;
  NodeService& nodes;
  RunService& runs;
  RolloutService& rollouts;
  ValidationService& validations;
  EventService& events;
  HealthService& health;
  ReadingService& readings;
  TimelineService& timeline;
  RunManager& run_feeds;
  rollout::RolloutManager& rollout_feeds;
  validation::ValidationManager& validation_feeds;
  // The inventory in force; nullptr: there is none.
  std::function<std::shared_ptr<const Inventory>()> inventory;
  std::string cluster;
};

// Makes a call for a person who is logged in, admitted and counted like one over gRPC: the same
// table of who may, the same shares, the same metrics. `rpc` as on the wire.
absl::StatusOr<std::string> CallInPlace(const WebCollaborators& with, const Identity& identity,
                                        absl::string_view rpc,
                                        absl::FunctionRef<absl::StatusOr<std::string>()> call);

}  // namespace muster::controller
