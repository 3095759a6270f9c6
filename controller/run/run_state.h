// Decides what a run does next: pure decisions, without threads, clock, store or network.
//
// A run goes through its plays one by one. In each play it asks for facts, has plans compiled for
// the nodes that have not dropped out, sends them, and waits until every node is done, failed,
// unreachable or cancelled. The owner of a RunState reports events to it and carries out the
// actions that it returns, in order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/session/facts_round.h"

namespace muster::controller {

// How long a node that is not connected when its play starts may take to connect.
inline constexpr absl::Duration kPlayConnectGrace = absl::Seconds(10);
// How long a node whose connection is lost during a play may take to come back.
inline constexpr absl::Duration kReconnectGrace = absl::Seconds(15);
// After a restart of the controller, all agents have to find it again, with their backoff.
inline constexpr absl::Duration kRestartGrace = absl::Seconds(60);
// A node that does not answer within this time keeps its last facts.
inline constexpr absl::Duration kFactsWait = absl::Seconds(15);

// How long a connected node may take to accept or refuse its plan; after that, its agent hangs or
// is not genuine.
inline constexpr absl::Duration kReceiptWait = absl::Seconds(60);

// A node of a cancelled run stops after its current step; installing packages takes minutes. Nodes
// that have not reported where they stopped by then are not waited for any more.
inline constexpr absl::Duration kCancelWait = absl::Minutes(15);

enum class NodePhase { kWaiting, kRunning, kDone, kFailed, kUnreachable, kCancelled };
// The words of RunNodeRecord::state and NodeRecap.state.
absl::string_view NodePhaseName(NodePhase phase);
NodePhase ParseNodePhase(absl::string_view name);  // kWaiting for an unknown word
// Whether a node has left the run for good and takes no part in later plays.
bool IsOut(NodePhase phase);

enum class StepOutcome { kOk = 1, kChanged = 2, kFailed = 3, kSkipped = 4 };  // as v1::StepStatus

// A reboot that was permitted to a node of a run.
struct NodeReboot {
  std::string boot_id;  // of the boot that ends
  std::string step_id;  // of the step that asked for it
  absl::Time back_by;   // the run waits until then
};

// One node in a run.
struct RunNode {
  std::string name;
  std::string uuid;          // empty: not enrolled
  std::set<uint32_t> plays;  // plays that name it
  NodePhase phase = NodePhase::kWaiting;
  uint32_t play = 0;  // play that the phase is about
  uint32_t ok = 0, changed = 0, failed = 0, skipped = 0;
  std::string message;                            // first error
  std::map<uint32_t, std::string> steps_digests;  // see NodeRecap
  uint64_t result_bytes = 0;                      // see RunNodeRecord
  // Set from the permit until the node is back in another boot or has finished the step.
  std::optional<NodeReboot> reboot;

  // Not stored; lost on restart.
  bool connected = false;
  bool plan_ready = false;     // compiled for the current play
  bool plan_sent = false;      // on the current connection
  bool plan_accepted = false;  // the agent has it in its journal
  bool came_back = false;      // connected again after it was unreachable
  // In the time of RunState::Steady().
  std::optional<absl::Time> away_deadline;     // unreachable after that
  std::optional<absl::Time> receipt_deadline;  // for the plan that was sent
};

// An agent's error message goes to the store, to memory and to every watcher.
inline constexpr size_t kMaxNodeMessage = size_t{16} << 10;
// `text`, cut to about that length at the end of a character.
std::string NodeMessage(absl::string_view text);

// Counts a step result, replacing the `earlier` one of the same step.
void CountStep(RunNode& node, std::optional<StepOutcome> earlier, StepOutcome now);
// Ends the node's plan in `play`. Leaves a node alone that is out already or past that play: the
// report came late.
void ApplyOutcome(RunNode& node, uint32_t play, bool succeeded, bool cancelled,
                  absl::string_view message);

struct RunAction {
  enum Kind {
    kNextPlay,      // call StartPlay() for `play`
    kPlayStarted,   // tell the watchers
    kGatherFacts,   // ask the connected nodes, then call FactsAsked()
    kCompile,       // compile the current play for PlanTargets(), then call Compiled()
    kSendPlan,      // to `node`
    kSendCancel,    // to `node`
    kNodeFinished,  // `node` has finished the play or left it: tell the watchers
    kFinish,        // the run has ended
  };
  Kind kind;
  std::string node;
  uint32_t play = 0;
};
using RunActions = std::vector<RunAction>;

// The present connection of a node.
struct NodeLink {
  std::string uuid;
  bool connected = false;
};

// Not thread-safe.
class RunState {
 public:
  RunState(std::vector<RunNode> nodes, uint32_t play_count);

  // Starts play `play`, or the next one after it that has nodes left. `links` are the enrolled
  // nodes by name. `resumed`: the controller was restarted during this play; nodes that finished it
  // stay done.
  RunActions StartPlay(uint32_t play, const std::map<std::string, NodeLink>& links, bool resumed,
                       absl::Time now);
  // The play waits for the facts of these nodes (uuids; not necessarily nodes of this run).
  RunActions FactsAsked(std::set<std::string> uuids, absl::Time now);
  RunActions OnFacts(absl::string_view uuid);
  // The node's facts were refused: it fails, and the others continue with the facts that are known.
  RunActions OnFactsRefused(absl::string_view uuid, absl::string_view why);
  // `names` have been compiled: those in `errors` have no plan, those in `idle` nothing to do, the
  // others have a plan. Called until all PlanTargets() have been; without effect after Cancel().
  RunActions Compiled(const std::vector<std::string>& names,
                      const std::map<std::string, absl::Status>& errors,
                      const std::set<std::string>& idle = {});
  // `has_plan`: the node's agent says that it is working on its plan of the current play.
  RunActions OnConnected(absl::string_view uuid, absl::string_view boot_id, bool has_plan = false);
  RunActions OnDisconnected(absl::string_view uuid, absl::Time now);
  RunActions OnReceipt(absl::string_view uuid, uint32_t play, bool accepted,
                       absl::string_view reason);
  // The node's plan could not be sent; Tick() tries it again.
  void OnSendFailed(absl::string_view name);
  // Sets the digest of the plan that was compiled for the node in the current play.
  void SetStepsDigest(absl::string_view name, const std::string& digest);
  // Called after reports, with the nodes as CountStep and ApplyOutcome left them.
  RunActions Replace(const std::vector<RunNode>& nodes);
  RunActions Cancel();
  // Call about every second.
  RunActions Tick(absl::Time now);

  uint32_t play() const { return play_; }
  bool cancelling() const { return cancelling_; }
  bool finished() const { return stage_ == Stage::kFinished; }
  const std::vector<RunNode>& nodes() const { return nodes_; }
  const RunNode* FindByName(absl::string_view name) const;
  const RunNode* FindByUuid(absl::string_view uuid) const;
  // The names of the nodes that wait for a plan of the current play.
  std::vector<std::string> PlanTargets() const;
  std::vector<std::string> PlayMembers() const;
  // The nodes that changed since the last call and are to be stored.
  std::vector<const RunNode*> TakeChanged();
  // Marks nodes again that could not be stored.
  void MarkChanged(const std::vector<const RunNode*>& nodes);

 private:
  enum class Stage { kBetween, kGathering, kRunning, kFinished };

  // `now` in a time that never goes back, which all deadlines are in: a clock that is set back
  // makes nobody wait longer. The ends of permitted reboots, which are in wall time, are moved with
  // it.
  absl::Time Steady(absl::Time now);
  // When the node that is away is given up; later while it reboots.
  absl::Time AwayDeadline(const RunNode& node, absl::Time now, absl::Duration grace);
  bool IsOpenMember(const RunNode& node) const;  // in the current play, and has not finished it
  RunNode* Mutable(absl::string_view uuid);
  void Leave(RunNode& node, NodePhase phase, absl::string_view message, RunActions& actions);
  void Send(RunNode& node, RunActions& actions);
  void Settle(RunActions& actions);
  void MaybeCompile(RunActions& actions);

  std::vector<RunNode> nodes_;
  uint32_t play_count_;
  uint32_t play_ = 0;
  Stage stage_ = Stage::kBetween;
  // All nodes before it have finished the play, and finished nodes stay so.
  size_t first_open_ = 0;
  bool cancelling_ = false;
  std::optional<absl::Time> cancel_deadline_;   // from the first Tick() after Cancel()
  absl::Time last_now_ = absl::InfinitePast();  // of the last call that had one
  absl::Duration set_back_;  // how far the clock was set back, all times together
  FactsRound facts_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, size_t, std::less<>> by_uuid_;
  std::set<size_t> changed_;
};

}  // namespace muster::controller
