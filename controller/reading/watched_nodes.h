// What nodes measure while people look at them. In memory alone.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "controller/session/agent_sessions.h"

namespace muster {
class Clock;
}

namespace muster::controller {

struct TimedReading {
  absl::Time at;  // when it came, by the controller's clock
  std::shared_ptr<const v1::NodeReadings> readings;
};

struct WatchedReadings {
  bool is_connected = false;
  std::optional<TimedReading> newest;
  std::vector<TimedReading> history;  // oldest first, with the newest
};

// Asks nodes to measure as long as somebody asks it. A node that nobody has asked about for
// kPatience, or three of its intervals, is forgotten. Thread-safe.
class WatchedNodes final : public AgentSessionListener {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(15);
  // What an agent is told, or twice the patience; renewed when half of it has passed.
  static constexpr absl::Duration kLease = absl::Seconds(30);
  static constexpr size_t kMaxHistory = 90;

  // How often so many nodes measure: every two seconds, and rarely enough that the controller gets
  // no more than 500 readings in a second.
  static absl::Duration IntervalFor(size_t watched_nodes);

  // The references must outlive the object.
  WatchedNodes(AgentSessions& sessions, Clock& clock) : sessions_(sessions), clock_(clock) {}

  // The newest readings of these machines, in the order of `uuids`. `with_history`: keeps those of
  // before from now on.
  std::vector<WatchedReadings> Ask(absl::Span<const std::string> uuids, bool with_history);
  // How often the nodes that are watched measure now.
  absl::Duration interval() const;

  // AgentSessionListener
  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnReadings(absl::string_view node_uuid, const v1::NodeReadings& readings) override;

 private:
  struct Watched {
    absl::Time until;                                 // of people
    absl::Time history_until = absl::InfinitePast();  // of those who want the history
    absl::Time asked_until = absl::InfinitePast();    // of the agent
    std::deque<TimedReading> kept;                    // oldest first
  };

  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  AgentSessions& sessions_;
  Clock& clock_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Watched> watched_ ABSL_GUARDED_BY(mutex_);  // by uuid
};

}  // namespace muster::controller
