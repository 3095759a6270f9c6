// The runs of the controller, for many threads: the entrance to RunEngine.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_history.h"
#include "controller/session/agent_sessions.h"

namespace muster::controller {

struct RunNodeRecord;

// Thread-safe. Messages from agents are queued and handled by one thread; reports that arrive
// together are handled in one transaction. Two other threads compile plays, without the engine: one
// takes any play, the other only small ones, so that these never wait for a large one. Calls of
// administrators run in the caller's thread.
class RunManager final : public AgentSessionListener {
 public:
  // Limits on what one node may have waiting in the queue, measured in memory. An honest agent
  // waits for the receipt of 128 reports.
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
  absl::Status Cancel(const std::string& run_id, const RunActor& actor);
  // See RunEventLog::Watch, and RunHistory for a run that ended long ago. NotFound: no such run.
  // Neither this nor MayFetchBlob() waits for the engine: both are called on gRPC's few threads.
  absl::StatusOr<std::shared_ptr<RunWatch>> Watch(const std::string& run_id,
                                                  uint64_t after_sequence,
                                                  std::function<void()> on_ready);
  // Disconnects all watchers, and those that come from now on: the controller is stopping.
  void EndWatches();
  // For the session service: whether a plan that the node may be working on names the content.
  // Reads the store.
  bool MayFetchBlob(absl::string_view uuid, absl::string_view sha256);

  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  // Does nothing: runs wait until facts are in the store, see FactsStored().
  void OnFacts(absl::string_view, const v1::FactsReport&) override {}
  void FactsStored(const std::string& node_uuid, const std::string& request_id);
  // Or that they never will be, because they were refused.
  void FactsRefused(const std::string& node_uuid, const std::string& request_id,
                    const absl::Status& why);
  void OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) override;
  void OnReport(absl::string_view node_uuid, const v1::Report& report) override;
  void OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) override;
  void OnRebootRequest(absl::string_view node_uuid, const v1::RebootRequest& request) override;

 private:
  // An event in the queue: a report, which is stored together with others, or something else.
  struct Event {
    NodeReport report;
    std::string about;  // uuid of the node whose earlier reports go first; empty: none
    std::function<void(RunEngine&)> handle;
    std::string sender;  // uuid of the node whose share is charged; empty: none
    size_t bytes = 0;
  };
  // The part of the queue that one node uses.
  struct Share {
    size_t events = 0;
    size_t bytes = 0;
    bool is_over = false;  // something was dropped: no more is accepted until it reconnects
  };
  void Push(Event event);
  // Counts against the node's share; a node that exceeds it is disconnected and sends it again
  // later.
  void PushOf(absl::string_view node_uuid, size_t bytes, Event event);
  // Gives charged shares back.
  void Release(const std::map<std::string, Share>& charged);
  void Loop();
  void Handle(std::deque<Event> events);
  // Compiles plays of at most `most_nodes` nodes, one after another.
  void CompileLoop(size_t most_nodes);
  // Takes the next such play out of the queue. REQUIRES: there is one.
  PlayWork NextPlay(size_t most_nodes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(queue_mutex_);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(queue_mutex_) {
    return stopping_ || !queue_.empty();
  }
  bool IsStopping() {
    absl::MutexLock lock(&queue_mutex_);
    return stopping_;
  }

  const RunCollaborators with_;
  absl::Mutex queue_mutex_;
  std::deque<Event> queue_ ABSL_GUARDED_BY(queue_mutex_);
  std::map<std::string, Share, std::less<>> shares_ ABSL_GUARDED_BY(queue_mutex_);
  std::deque<PlayWork> plays_ ABSL_GUARDED_BY(queue_mutex_);  // to be compiled
  bool stopping_ ABSL_GUARDED_BY(queue_mutex_) = false;
  absl::Mutex engine_mutex_;
  RunEngine engine_ ABSL_GUARDED_BY(engine_mutex_);
  const std::shared_ptr<const RunLogs> logs_;  // the engine's
  RunHistory history_;
  std::atomic<bool> watches_ended_ = false;
  std::thread thread_;
  std::vector<std::thread> compilers_;
};

}  // namespace muster::controller
