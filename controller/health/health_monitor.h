// The health of the cluster: hears nodes, decides by policy, holds nodes and lets them go.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/health/decision.h"
#include "controller/health/fleet.h"
#include "controller/health/health_view.h"
#include "controller/health/notices.h"
#include "controller/health/remedies.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/silence.h"

namespace muster {
class Clock;
}
namespace muster::controller {
class Inventory;
class Store;
class Transaction;
}  // namespace muster::controller
namespace muster::controller::validation {
class JobGate;
}

namespace muster::controller::health {

// All must be thread-safe and outlive the monitor.
struct HealthCollaborators {
  Store& store;
  AgentSessions& sessions;
  validation::JobGate& gate;
  Clock& clock;
  // The inventory in force and its revision. NotFound: there is none yet.
  std::function<absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>>()>
      latest_inventory;
  StartValidation start_validation;
  RebootWork reboot;
  // Tells people outside; may be empty.
  std::function<void(const Notice&)> notify = nullptr;
  // Called with what keeps the monitor from its work, once for each kind; may be empty.
  std::function<void(absl::string_view)> warn = nullptr;
};

// Reports of nodes wait, the newest of each, for one thread, which takes all that have come at
// once: thousands of nodes that change together are one transaction. Heartbeats never come here.
// Decisions are made from what is stored and what was reported last (Decide()), so nothing is
// missed by a restart. Thread-safe.
class HealthMonitor final : public AgentSessionListener {
 public:
  // The minimum pause between two looks, however much is reported.
  static constexpr absl::Duration kPause = absl::Milliseconds(200);
  // The interval while something waits for time to pass, and otherwise.
  static constexpr absl::Duration kBusyInterval = absl::Seconds(1);
  static constexpr absl::Duration kIdleInterval = absl::Seconds(5);
  // How long nodes have until they count as lost after the controller has started, or did nothing
  // for a while, besides their spread.
  static constexpr absl::Duration kStartGrace = absl::Minutes(1);

  explicit HealthMonitor(HealthCollaborators collaborators);
  ~HealthMonitor() override;  // stops

  // Reads what an earlier process knew. Call once, before Start() and before sessions.
  absl::Status Resume();
  void Start();
  void Stop();
  // The policy or a silence has changed.
  void Wake() { worker_.Wake(); }

  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnHealth(absl::string_view node_uuid, const v1::HealthReport& report) override;

  // What is known now; blocks for the store and for a look that is running. `all_nodes`: false
  // leaves out the nodes about which there is nothing to say, which change neither the problems nor
  // the breakers; `observe_only` is then said of the others.
  absl::StatusOr<HealthSummary> Summarize(bool all_nodes = true);

  // The nodes among `names` on which the condition is bad; of that part of the node, if `object` is
  // not empty.
  struct Bad {
    std::vector<std::string> connected, away;  // names
  };
  Bad FindBad(const absl::flat_hash_set<std::string>& names, absl::string_view condition,
              absl::string_view object);
  // Tells the agents of these nodes that the cause of the condition is gone. Returns the names of
  // those that could be told; their reports follow.
  std::vector<std::string> Clear(const std::vector<std::string>& names,
                                 const v1::ClearHealth& message);

  // One look, in the caller's thread. Returns when the next is due.
  absl::Time Step();
  // Begins the re-tests and reboots that the last look found due, in the caller's thread. May wait
  // for Slurm; looks go on meanwhile.
  absl::Time StepRemedies() { return remedies_.Step(); }

 private:
  // What a node has said since the last look.
  struct News {
    std::unique_ptr<v1::HealthReport> report;  // the newest
    bool has_begun = false;                    // a session
    std::string boot_id;                       // of the session that has begun
    bool is_away = false;
  };

  News& NewsOf(absl::string_view uuid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(news_mutex_);
  // What is to be done after a look, without the lock.
  struct Work {
    std::vector<Notice> notices;
    DueRemedies due;
  };

  absl::Status Look(Work& work);
  // When the last of so many nodes has had time to connect since the controller went on.
  absl::Time ConnectBy(size_t nodes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blames no node for a pause of the controller's own, or for a clock that was set.
  void NoteOwnPause(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReadMembers(Transaction& txn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What the history says of nodes' boots, and which of them it calls lost.
  absl::Status RestoreNotices(Transaction& txn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RestoreHistory(Transaction& txn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReadPolicy() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes what has come. News of nodes that are no members are dropped, unless it could not be read
  // whether they are.
  void TakeNews() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StoreNews() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendSettings() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AskForReports() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Situation> ReadSituation(Transaction& txn, bool all_nodes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  NodeView ViewOf(const FleetNode& node) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const HealthRules* RulesOf(const std::string& node) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Apply(const Situation& situation, const Decision& decision);

  const HealthCollaborators with_;
  absl::Mutex news_mutex_;
  absl::flat_hash_map<std::string, News> news_ ABSL_GUARDED_BY(news_mutex_);
  // Also held from reading the drains until what was decided by them is written.
  absl::Mutex mutex_ ABSL_ACQUIRED_BEFORE(news_mutex_);
  // A look is due every kIdleInterval.
  Silence silence_ ABSL_GUARDED_BY(mutex_){kIdleInterval + Silence::kLate};
  Fleet fleet_ ABSL_GUARDED_BY(mutex_);
  uint64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const Inventory> inventory_ ABSL_GUARDED_BY(mutex_);  // nullptr: none yet
  Notices notices_ ABSL_GUARDED_BY(mutex_);
  Remedies remedies_;
  // The worker's own.
  absl::Time pause_until_ = absl::InfinitePast();
  absl::Time members_read_at_ = absl::InfinitePast();
  bool is_busy_ = false;
  absl::Status looked_;
  Worker worker_;
};

}  // namespace muster::controller::health
