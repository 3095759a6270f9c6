// The runs of the controller, for many threads: the entrance to RunEngine.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/base/worker.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_history.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/node_queue.h"

namespace muster::controller {

struct RunNodeRecord;

// Thread-safe. Messages from agents are queued and handled by one thread; reports that arrive
// together are handled in one transaction. Two other threads compile plays, without the engine: one
// takes any play, the other only small ones, so that these never wait for a large one. Calls of
// administrators run in the caller's thread.
class RunManager final : public AgentSessionListener {
 public:
  // Limits on what one node may have waiting in the queue, in messages, each of at most 128
  // reports, and in memory. An honest agent has at most 128 reports without a receipt.
  static constexpr size_t kMaxQueuedOfNode = 512;
  static constexpr size_t kMaxQueuedBytesOfNode = 16 * 1024 * 1024;

  explicit RunManager(RunCollaborators collaborators);
  ~RunManager() override;  // stops

  // Resumes the runs of an earlier process and starts the thread. Call once, before sessions are
  // accepted.
  absl::Status Start();
  // Runs stay as they are in the store. The listener may still be called; it does nothing then.
  void Stop();

  absl::StatusOr<v1::Run> Create(const v1::CreateRunRequest& request, const RunActor& actor);
  absl::StatusOr<std::vector<std::string>> Preview(const v1::CreateRunRequest& request,
                                                   const RunActor& actor);
  // See RunEngine.
  absl::StatusOr<v1::PlanFile> PlanFileOf(const std::string& sha256);
  absl::Status Cancel(const std::string& run_id, const RunActor& actor);
  // See RunFeed::Watch, and RunHistory for a run that ended long ago. NotFound: no such run.
  // Neither this nor MayFetchBlob() waits for the engine: both are called on gRPC's few threads.
  absl::StatusOr<std::shared_ptr<RunWatch>> Watch(const std::string& run_id,
                                                  uint64_t after_sequence,
                                                  std::function<void()> on_ready,
                                                  FeedPart part = FeedPart::kAll);
  // Disconnects all watchers, and those that come from now on: the controller is stopping.
  void EndWatches();
  // For the session service: whether a plan that the node may be working on names the content.
  // Reads the store.
  bool MayFetchBlob(absl::string_view uuid, absl::string_view sha256);

  // Handles what has come, in the caller's thread, and ticks; returns when the next tick is due.
  // Not to be called after Start(), whose thread does.
  absl::Time Step();

  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  // The facts that a play asked for with its plan's id are in the store, or never will be. Runs
  // wait for this rather than for OnFacts().
  void OnFactsAnswered(const std::string& node_uuid, const std::string& plan_id,
                       const absl::Status& refused);
  void OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) override;
  void OnReports(absl::string_view node_uuid,
                 const std::shared_ptr<const v1::Reports>& reports) override;
  void OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) override;
  void OnRebootRequest(absl::string_view node_uuid, const v1::RebootRequest& request) override;
  // What others do on the node ages its facts.
  void OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) override;
  void OnCommandResult(absl::string_view node_uuid, const v1::CommandResult& result) override;

 private:
  // An event in the queue: reports, which are stored together with others, or something else.
  struct Event {
    std::shared_ptr<const v1::Reports> reports;  // nullptr: something else
    // Uuid of the node that reports, or whose earlier reports go first; empty: none.
    std::string about;
    std::function<void(RunEngine&)> handle;
  };
  using Queue = NodeQueue<Event>;

  void Push(Event event);
  // Counts against the node's share; a node that exceeds it is disconnected and sends it again
  // later.
  void PushOf(absl::string_view node_uuid, size_t bytes, Event event);
  void PushWorkedOn(absl::string_view node_uuid);
  void Handle(Queue::Batch events);
  // Compiles the next play of at most `most_nodes` nodes.
  absl::Time CompileNext(size_t most_nodes);
  // Takes it out of the queue; nullopt: there is none.
  std::optional<PlayWork> NextPlay(size_t most_nodes);

  const RunCollaborators with_;
  Queue queue_{{.events_of_node = kMaxQueuedOfNode, .bytes_of_node = kMaxQueuedBytesOfNode}};
  absl::Mutex mutex_;
  // Nodes of which something was dropped: nothing more is taken before they connect again.
  std::set<std::string, std::less<>> cut_off_ ABSL_GUARDED_BY(mutex_);
  std::deque<PlayWork> plays_ ABSL_GUARDED_BY(mutex_);  // to be compiled
  absl::Mutex engine_mutex_;
  RunEngine engine_ ABSL_GUARDED_BY(engine_mutex_);
  const std::shared_ptr<const RunFeeds> feeds_;  // the engine's
  const std::shared_ptr<KeptFacts> kept_facts_;  // likewise
  RunHistory history_;
  std::atomic<bool> watches_ended_ = false;
  absl::Time next_tick_ = absl::InfinitePast();  // the worker's own
  Worker worker_;
  Worker any_compiler_;
  Worker small_compiler_;
};

}  // namespace muster::controller
