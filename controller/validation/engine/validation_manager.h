// The validations of the controller, for many threads: the entrance to ValidationEngine.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/base/worker.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/node_queue.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/engine/validation_feed.h"

namespace muster::controller::validation {

// Thread-safe. Messages from agents are queued and handled by one thread; those that arrive
// together are handled in one transaction. Calls of administrators run in the caller's thread.
class ValidationManager final : public AgentSessionListener {
 public:
  // Limits on what one node may have waiting in the queue. A node has a handful of checks at once
  // and repeats reports until they are acknowledged, so anything above that may be dropped.
  static constexpr size_t kMaxQueuedOfNode = 64;
  static constexpr size_t kMaxQueuedBytesOfNode = 8 * 1024 * 1024;
  // For all nodes; updates may use half of it.
  static constexpr size_t kMaxQueuedBytes = 256 * 1024 * 1024;

  explicit ValidationManager(ValidationCollaborators collaborators);
  ~ValidationManager() override;  // stops

  // Resumes the validations of an earlier process and starts the thread. Call once, before sessions
  // are accepted and after the runs have started.
  absl::Status Start();
  // Validations stay as they are in the store.
  void Stop();

  // See Admission. Blocks for Slurm, too, which is to start no more jobs on the
  // nodes; FailedPrecondition where some run. `asked_by`: see
  // ValidationEngine::Begin().
  absl::StatusOr<v1::Validation> Create(const v1::CreateValidationRequest& request,
                                        const Actor& actor,
                                        const RunValidationRecord* asked_by = nullptr);
  absl::Status Cancel(const std::string& validation_id, const Actor& actor);
  absl::StatusOr<v1::Validation> Get(const std::string& validation_id);
  // See ValidationFeed::Watch().
  absl::StatusOr<std::shared_ptr<ValidationWatch>> Watch(const std::string& validation_id,
                                                         std::function<void()> on_ready);
  // Disconnects all watchers, and those that come from now on.
  void EndWatches();

  // Handles what has come, in the caller's thread, and ticks; returns when the next tick is due.
  // Not to be called after Start(), whose thread does.
  absl::Time Step();

  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnCheckUpdate(absl::string_view node_uuid, const v1::CheckUpdate& update) override;
  void OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) override;
  // The facts that were requested from a node with that id are in the store.
  void OnFactsStored(const std::string& node_uuid, const FactsRequest& request);

 private:
  using Event = std::function<void(ValidationEngine&)>;

  void Push(Event event);
  // Within 1/`part` of the node's share; dropped otherwise.
  void PushOf(absl::string_view node_uuid, size_t bytes, size_t part, Event event);

  const ValidationCollaborators with_;
  Clock& clock_;
  NodeQueue<Event> queue_{{.events_of_node = kMaxQueuedOfNode,
                           .bytes_of_node = kMaxQueuedBytesOfNode,
                           .bytes = kMaxQueuedBytes}};
  absl::Mutex engine_mutex_;
  ValidationEngine engine_ ABSL_GUARDED_BY(engine_mutex_);
  std::atomic<bool> watches_ended_ = false;
  absl::Time next_tick_ = absl::InfinitePast();  // the worker's own
  Worker worker_;
};

}  // namespace muster::controller::validation
