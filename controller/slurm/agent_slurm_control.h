// Controls Slurm through the agent of the node on which slurmctld runs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/session/agent_sessions.h"
#include "controller/slurm/slurm_control.h"
#include "muster/v1/slurm.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller::slurm {

// A node on which slurmctld runs.
struct SlurmctldPlace {
  std::string node;
  std::string uuid;
};

// The first whose agent is connected, else the first: there is one. Slurm's commands on each of
// these nodes find the slurmctld that leads.
SlurmctldPlace PlaceToAsk(const std::vector<SlurmctldPlace>& places, const AgentSessions& sessions);

// Sends requests over the agent's session and waits for the answers, which it trusts only for what
// was asked. Thread-safe.
class AgentSlurmControl final : public SlurmControl, public AgentSessionListener {
 public:
  // For an answer: the time that the agent allows Slurm's programs, and some more.
  static constexpr absl::Duration kPatience = absl::Seconds(35);

  // `find` is called before every request and returns where slurmctld runs; it may block.
  // `on_connected` is called when the agent there has connected; it must not block. The references
  // must outlive the object.
  AgentSlurmControl(AgentSessions& sessions, Clock& clock,
                    std::function<absl::StatusOr<SlurmctldPlace>()> find,
                    std::function<void()> on_connected);

  // Ends every wait, and makes every later call fail: the controller is stopping.
  void Stop();

  // SlurmControl. Must not be called from a listener.
  absl::StatusOr<std::vector<SlurmNode>> Nodes() override;
  absl::StatusOr<LeftAlone> Drain(const std::vector<NodeChange>& nodes,
                                  const std::string& reason) override;
  absl::StatusOr<LeftAlone> Undrain(const std::vector<NodeChange>& nodes) override;
  absl::StatusOr<SlurmJobsByNode> JobsOn(const std::vector<std::string>& nodes) override;
  absl::StatusOr<LeftAlone> Requeue(const std::vector<JobOnNode>& jobs) override;

  // AgentSessionListener
  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnSlurmAnswer(absl::string_view node_uuid, const v1::SlurmAnswer& answer) override;

 private:
  // A caller that waits for an answer.
  struct Waiting {
    std::string uuid;
    bool is_over = false;
    bool is_cut = false;  // by the end of the connection or of the controller
    v1::SlurmAnswer answer;
  };

  // Fails unless the answer is of the kind asked for.
  absl::StatusOr<v1::SlurmAnswer> Ask(v1::SlurmRequest request, v1::SlurmAnswer::AnswerCase kind);

  AgentSessions& sessions_;
  Clock& clock_;
  const std::function<absl::StatusOr<SlurmctldPlace>()> find_;
  const std::function<void()> on_connected_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::string last_uuid_ ABSL_GUARDED_BY(mutex_);  // the last that was found; empty: none yet
  // By request id; owned by the waiting callers.
  std::map<std::string, Waiting*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller::slurm
