// Decides what a validation does next: pure decisions, without threads, clock, store or network.
//
// A validation takes its nodes through the stages of a suite. A node moves on to the next stage by
// itself, but stages with checks between nodes are shared: all nodes arrive before such a stage
// begins and leave it together. Pairs run in rounds. The owner of a ValidationState reports events
// to it, stores TakeChanged(), and then carries out the returned actions, in order.
//
// It can be rebuilt after a restart of the controller from what was stored: the same nodes, suite
// and outcomes lead to the same check ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/validation/schedule/pair_schedule.h"
#include "controller/validation/schedule/power_budget.h"
#include "controller/validation/suite/suite.h"

namespace muster::controller::validation {

// How long a node that is not connected may take to connect; after a restart of the controller, all
// agents have to find it again, with their backoff.
inline constexpr absl::Duration kCheckConnectGrace = absl::Seconds(15);
inline constexpr absl::Duration kRestartGrace = absl::Seconds(60);
// How long a node whose connection is lost while its check is running may take to come back. Longer
// than most servers take to boot, so that the verdict can say that it restarted.
inline constexpr absl::Duration kLostGrace = absl::Minutes(10);
// The agent ends a check at its time limit; its report takes some more time, even when the node or
// the controller comes back after that limit.
inline constexpr absl::Duration kReportGrace = absl::Seconds(30);
// A check that was told to stop has ended by then: its agent kills it after 25 s.
inline constexpr absl::Duration kStopGrace = absl::Seconds(40);
// How often a check that was stopped to save power is started again.
inline constexpr uint32_t kMaxAttempts = 5;

// The outcome of a part, as far as it is known; the words of v1::Outcome.
enum class PartOutcome { kNone, kPass, kFail, kUnknown, kSkipped };

struct ValidationNode {
  std::string name;
  std::string uuid;  // empty: not enrolled
  std::string rack;
  std::string switch_name;
  NodeTraits traits;
  NodePower power;
  // Not under test: takes part only in the checks between nodes in which one node would be alone.
  bool is_witness = false;
};

struct PeerEndpoint {
  std::string address;  // empty: the node's address in the inventory
  uint32_t port = 0;
};

enum class PartPhase { kWaiting, kStarted, kEnded };

// A check on one node: by itself, or its side of a check between nodes.
struct CheckPart {
  // VALIDATION/STAGE.CHECK.ROUND.ATTEMPT/NODE: unique among all validations, and the same again
  // after a restart.
  std::string check_id;
  // Shared by the sides of one check between nodes.
  std::string execution_id;
  std::string node;
  // Nodes by rank, this one included. Never nullptr.
  std::shared_ptr<const std::vector<std::string>> members;
  uint32_t rank = 0;
  size_t stage = 0;
  size_t check = 0;
  PartPhase phase = PartPhase::kWaiting;
  PartOutcome outcome = PartOutcome::kNone;
  std::string reason;  // why the validation itself sets unknown or skipped; empty: from a report
  // It is being stopped to save power: if it cannot give a result then, that is not a verdict.
  bool saves_power = false;
  // Stopped to save power and to be started again: not a verdict.
  bool put_back = false;
  absl::Time started_at = absl::InfinitePast();

  // The other node of a pair; empty otherwise.
  absl::string_view Partner() const;
};

struct ValidationAction {
  enum Kind {
    kStartCheck,    // send StartCheck; `check_id` names the part
    kConnectPeers,  // send ConnectPeers with PeersOf()
    kStopCheck,     // send StopCheck with `reason`
    kVerdict,       // the part has ended: unless it has a reason, its report is to be judged
    kFinish,        // the validation has ended
  };
  Kind kind;
  std::string check_id;
  std::string node;
  std::string reason;
};
using ValidationActions = std::vector<ValidationAction>;

// Not thread-safe.
class ValidationState {
 public:
  // The most checks between nodes in one validation: more need `max_rounds`.
  static constexpr size_t kMaxPairs = 500'000;
  // "", or why these would be too many, or too many nodes for a check of all of them at once
  // (checks::kMaxRanks), with the remedy.
  static std::string CheckSize(const Suite& suite, size_t nodes, size_t max_rounds);

  // `stored` is what was stored before a restart, and empty at first; check_id, phase, outcome,
  // reason, saves_power, put_back and started_at count. `max_rounds` above 0 lowers the suite's.
  // The others_watts of `racks` include the draw of nodes that are not among `nodes`. REQUIRES:
  // CheckSize() returns "", and no two nodes have the same name or uuid.
  ValidationState(std::string validation_id, Suite suite, std::vector<ValidationNode> nodes,
                  size_t max_rounds, std::vector<RackPower> racks,
                  std::vector<CheckPart> stored = {});

  // Call once, before everything else; `connected` are the uuids of connected agents.
  // `others_load`: whether other validations load a rack. A check that waits for them is tried
  // again at each Tick().
  ValidationActions Begin(const std::set<std::string>& connected, absl::Time now,
                          PowerBudget::OthersLoad others_load = nullptr);

  // `check_ids` come from the agent's Hello: the checks that it is running or has a report of.
  ValidationActions OnConnected(absl::string_view uuid, const std::set<std::string>& check_ids,
                                absl::Time now);
  ValidationActions OnDisconnected(absl::string_view uuid, absl::Time now);
  // The first update of a check shows that the agent has it; with `listening`, where it listens.
  ValidationActions OnUpdate(absl::string_view check_id,
                             const std::optional<PeerEndpoint>& listening, absl::Time now);
  // `outcome` is the verdict on the report by itself. Later and unknown reports change nothing.
  ValidationActions OnReport(absl::string_view check_id, PartOutcome outcome, absl::Time now);
  // A check could not be sent: treated as if the node were lost.
  ValidationActions OnSendFailed(absl::string_view check_id, absl::Time now);
  // The draw of a node under its present load.
  ValidationActions OnPower(absl::string_view node, double watts, absl::Time now);
  // Ends all checks for the verdict; the validation itself continues until those of connected nodes
  // have stopped, kStopGrace at most: a node that is still burning is not free.
  ValidationActions Cancel(absl::string_view reason, absl::Time now);
  // Call about every second.
  ValidationActions Tick(absl::Time now);

  bool finished() const { return finished_; }
  bool cancelled() const { return cancelled_; }
  const Suite& suite() const { return suite_; }
  const std::vector<ValidationNode>& nodes() const { return nodes_; }
  // nullptr: there is none (yet).
  const CheckPart* Find(absl::string_view check_id) const;
  const SuiteCheck& CheckOf(const CheckPart& part) const;
  const SuiteStage& StageOf(const CheckPart& part) const;
  // By rank, where they listen. REQUIRES: a kConnectPeers for this execution.
  std::vector<PeerEndpoint> PeersOf(const CheckPart& part) const;
  // See PowerBudget; also checks that Cancel() has ended and that may still run.
  bool HasLoad(const std::string& rack, bool with_stopping) const;
  // Parts that have started but not ended, for progress.
  std::vector<const CheckPart*> Running() const;
  // Parts that started or ended since the last call and are to be stored.
  std::vector<const CheckPart*> TakeChanged();
  // Marks parts again that could not be stored.
  void MarkChanged(const std::vector<const CheckPart*>& parts);

 private:
  struct Execution;

  struct Part {
    CheckPart info;
    Execution* execution = nullptr;
    size_t node = 0;     // in nodes_ and node_states_
    bool known = false;  // the agent has confirmed it
    bool listening = false;
    PeerEndpoint endpoint;
    absl::Time deadline = absl::InfiniteFuture();
  };

  // A check with all nodes that take part in it at once.
  struct Execution {
    std::string id;
    size_t stage = 0;
    size_t check = 0;
    std::string round;  // a number; "x" for a node that does not take part
    uint32_t attempt = 0;
    std::vector<Part*> parts;
    size_t open = 0;  // parts that have not ended
    bool started = false;
    bool met = false;  // all sides have been told about each other
    bool stopping = false;
  };

  // By id: the order in which things are done does not depend on where they are in memory.
  struct ById {
    bool operator()(const Part* a, const Part* b) const {
      return a->info.check_id < b->info.check_id;
    }
    using Deadline = std::pair<absl::Time, Part*>;
    bool operator()(const Deadline& a, const Deadline& b) const {
      return a.first != b.first ? a.first < b.first : (*this)(a.second, b.second);
    }
  };
  using Parts = std::set<Part*, ById>;

  // The checks of a stage that follow each other: all of them, or a single one where they run side
  // by side.
  struct Track {
    size_t check = 0;  // the current one; past the end when all are done
    size_t end = 0;
  };

  struct NodeState {
    bool connected = false;
    bool away = false;  // for so long that nothing waits for it any more
    std::optional<absl::Time> away_deadline;
    size_t stage = 0;
    std::vector<Track> tracks;           // of the stage, unless it is shared
    std::optional<size_t> failed_stage;  // in a stage with stop_on_fail
    Parts active;                        // that have not ended
    std::vector<Execution*> parked;      // until it is connected
  };

  // The current check of a track in a shared stage.
  struct Lane {
    std::vector<PairRound> rounds;  // of indices into `members`
    std::vector<size_t> members;
    size_t round = 0;
    size_t open = 0;  // executions that have not ended
  };

  // validation_progress.cc: which check comes next.
  std::vector<Track> TracksOf(const SuiteStage& stage) const;
  void EnterStage(size_t node);
  void EnterSharedStage();
  void LeaveStage(size_t node);
  void StepNode(size_t node, size_t track);
  void StepLane(size_t track);
  void StartRound(size_t track);
  void OnExecutionEnded(Execution& execution);
  bool IsOut(size_t node, size_t stage) const;
  void AddWitness(const SuiteCheck& check, std::vector<size_t>& members) const;
  bool Applies(const SuiteCheck& check, size_t node) const;
  size_t TrackOf(const Execution& execution) const;
  void AddSolo(size_t stage, size_t check, size_t node);
  void EndAlone(Part& part, const SuiteCheck& check);
  void AddExecution(size_t stage, size_t check, absl::string_view round,
                    const std::vector<size_t>& members);
  Execution& MakeExecution(size_t stage, size_t check, absl::string_view round, uint32_t attempt,
                           const std::vector<size_t>& members);
  static std::vector<size_t> MembersOf(const Execution& execution);

  // validation_state.cc: carrying the checks out.
  void TryStart(Execution& execution, absl::Time now);
  void Start(Execution& execution, absl::Time now);
  static void LeaveOutAbsent(Execution& execution);
  // Applies while the node is connected.
  void SetDeadline(Part& part, absl::Time deadline);
  void EndPart(Part& part, PartOutcome outcome, absl::string_view reason);
  void EndExecution(Execution& execution);
  void Stop(Execution& execution, absl::string_view reason);
  void GiveUp(size_t node);
  static bool Runs(const NodeState& state);
  ValidationActions Settle(absl::Time now);
  void Act(ValidationAction::Kind kind, const Part& part, absl::string_view reason = "");
  Part* FindPart(absl::string_view check_id);
  std::vector<PowerBudget::Member> PowerOf(const Execution& execution) const;
  const SuiteCheck& CheckAt(const Execution& execution) const;

  const std::string validation_id_;
  const Suite suite_;
  const std::vector<ValidationNode> nodes_;
  const size_t max_rounds_;
  PowerBudget budget_;
  std::map<std::string, CheckPart, std::less<>> stored_;
  const bool restored_;

  std::vector<NodeState> node_states_;
  std::map<std::string, size_t, std::less<>> by_uuid_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::vector<size_t> arrived_;       // by stage: nodes that have reached it or gone past it
  std::vector<Track> shared_tracks_;  // of the current shared stage
  std::vector<Lane> lanes_;           // of these tracks
  size_t nodes_through_ = 0;

  std::map<std::string, Execution, std::less<>> executions_;
  std::map<std::string, Part, std::less<>> parts_;
  std::deque<Execution*> ready_;
  std::deque<Execution*> ended_;
  // Executions that wait for power, by the rack of their first node.
  std::map<std::string, std::deque<Execution*>> powerless_;
  std::set<ById::Deadline, ById> deadlines_;  // of parts running on connected nodes
  Parts unsent_;
  Parts changed_;
  Parts lingering_;  // ended by Cancel(), perhaps still running on connected nodes
  absl::Time linger_until_ = absl::InfinitePast();
  ValidationActions actions_;
  bool cancelled_ = false;
  bool finished_ = false;
};

}  // namespace muster::controller::validation
