// The sessions of all agents.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/boot_history.h"
#include "controller/session/silence.h"
#include "controller/store/tables.h"

namespace muster {
class Clock;
}

namespace muster::v1 {
class AgentMessage;
}

namespace muster::controller {

class AgentSession;
class Store;

// Knows which session belongs to which node, hands its messages to the listener and drops dead
// sessions.
//
// A sweep goes over all sessions once a second; there are no timers per session, and a heartbeat
// only writes a number. The times when nodes were last seen go to the store in batches, when
// sessions end and at shutdown.
class SessionRegistry final : public AgentSessions {
 public:
  static constexpr absl::Duration kHelloTimeout = absl::Seconds(10);
  // For one node: one in use, and others that have not noticed yet that they are over.
  static constexpr size_t kMaxStreams = 8;
  // The number of sessions that one node may begin in a minute. An agent that is cut off again and
  // again reconnects every second; each time costs some lines in the log and some work for the
  // runs.
  static constexpr size_t kMaxBegunAMinute = 120;
  static constexpr absl::Duration kMisbehaviourInterval = absl::Hours(1);

  // The references must outlive the object.
  SessionRegistry(Store& store, Clock& clock, AgentSessionListener& listener);
  // REQUIRES: the gRPC server has been shut down and no session is left.
  ~SessionRegistry() override;

  // Reads how many nodes may come at once. Sweep() is due every second from now on.
  void Start();
  // Writes what has not been written yet. REQUIRES: Sweep() is not called any more.
  void Stop();
  // Drops dead sessions and writes when nodes were last seen.
  void Sweep();

  // AgentSessions
  absl::Status Send(absl::string_view node_uuid, const v1::ControllerMessage& message) override;
  absl::Status SendPlan(absl::string_view node_uuid,
                        std::shared_ptr<const std::string> message) override;
  bool IsConnected(absl::string_view node_uuid) const override;
  std::vector<AgentSessionInfo> List() const override;
  void Disconnect(absl::string_view node_uuid, const absl::Status& why) override;

  // On probation agents are welcomed, so that they know this version answers, and sent away: what
  // they report must not go into a store that may be put back.
  void SetProbation(bool is_on) { is_on_probation_.store(is_on); }

  // Ends all streams with UNAVAILABLE, and those that begin from now on: the controller is
  // stopping.
  void Close();

  // For AgentSession. A stream began; it becomes a node's session only with Greet().
  // ResourceExhausted: the node has kMaxStreams already, or began too many. Unavailable: after
  // Close().
  absl::Status Add(std::shared_ptr<AgentSession> session);
  // The session is about to be cut off because of its node's behaviour: reports it to the log, and
  // to the audit log once in kMisbehaviourInterval.
  void Misbehaved(const AgentSession& session, const absl::Status& why);
  // The stream sent Hello: it becomes the node's session, in place of an earlier one, and gets
  // Welcome. FailedPrecondition: two machines share the identity (a boot came back after another
  // had followed it). PermissionDenied: the node is removed.
  absl::Status Greet(const std::shared_ptr<AgentSession>& session, const v1::Hello& hello);
  // Takes a message after Hello. Dropped when another session has taken the place.
  void Deliver(const AgentSession& session, v1::AgentMessage& message);
  // The stream is over.
  void Remove(const AgentSession& session);

  // Held while a large message is parsed and delivered.
  absl::Mutex& large_messages() { return large_messages_; }

  Clock& clock() { return clock_; }

 private:
  struct NodeEntry {
    std::shared_ptr<AgentSession> session;  // nullptr: not connected
    std::optional<BootHistory> boots;       // nullopt: the store's
    size_t streams = 0;
    size_t begun = 0;  // since begun_since_
    absl::Time misbehaved_at = absl::InfinitePast();
  };

  // Unavailable: the node is not connected.
  absl::StatusOr<std::shared_ptr<AgentSession>> SessionOf(absl::string_view node_uuid) const;
  absl::Status CheckClone(absl::string_view node_uuid, const NodeRecord& node,
                          const AgentSession& session, const std::string& boot_id);
  // Listeners receive the events of one node in order: one of these locks is held around each call
  // to them.
  absl::Mutex& OrderOf(absl::string_view node_uuid);
  // The session does not belong to its node any more; notifies the listener.
  void Retire(const AgentSession& session);
  void TouchNode(const NodeEntry& entry, const AgentSession& session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteTouches();

  Store& store_;
  Clock& clock_;
  AgentSessionListener& listener_;
  absl::Mutex large_messages_;
  std::array<absl::Mutex, 64> order_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<const AgentSession*, std::shared_ptr<AgentSession>> all_
      ABSL_GUARDED_BY(mutex_);
  absl::node_hash_map<std::string, NodeEntry> nodes_ ABSL_GUARDED_BY(mutex_);  // by uuid
  // What the store does not know yet, by uuid; the sweep writes it.
  absl::flat_hash_map<std::string, NodeTouch> touches_ ABSL_GUARDED_BY(mutex_);
  size_t connected_ ABSL_GUARDED_BY(mutex_) = 0;  // nodes with a session
  Silence silence_ ABSL_GUARDED_BY(mutex_);
  absl::Time begun_since_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // The most nodes there have been: in the store at the start, connected since. Never falls,
  // because a session keeps to the interval of heartbeats that its Welcome told it.
  size_t fleet_size_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> is_on_probation_ = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::controller
