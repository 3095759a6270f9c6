// The validations of the controller, for many threads: the entrance to ValidationEngine.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "controller/session/agent_sessions.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/engine/validation_events.h"

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

  // See ValidationEngine::Admit(). Also blocks for Slurm, which must not start any more jobs on the
  // nodes; FailedPrecondition where some are running. `asked_by`: see ValidationEngine::Begin().
  absl::StatusOr<v1::Validation> Create(const v1::CreateValidationRequest& request,
                                        const ValidationActor& actor,
                                        const RunValidationRecord* asked_by = nullptr);
  absl::Status Cancel(const std::string& validation_id, const ValidationActor& actor);
  absl::StatusOr<v1::Validation> Get(const std::string& validation_id);
  // See ValidationEvents::Watch().
  absl::StatusOr<std::shared_ptr<ValidationWatch>> Watch(const std::string& validation_id,
                                                         std::function<void()> on_ready);
  // Disconnects all watchers, and those that come from now on.
  void EndWatches();

  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnFacts(absl::string_view, const v1::FactsReport&) override {}
  void OnPlanReceipt(absl::string_view, const v1::PlanReceipt&) override {}
  void OnReport(absl::string_view, const v1::Report&) override {}
  void OnProgress(absl::string_view, const v1::StepProgress&) override {}
  void OnRebootRequest(absl::string_view, const v1::RebootRequest&) override {}
  void OnCheckUpdate(absl::string_view node_uuid, const v1::CheckUpdate& update) override;
  void OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) override;
  // The facts that were requested from a node with that id are in the store.
  void OnFactsStored(absl::string_view node_uuid, absl::string_view request_id);

 private:
  struct Event {
    std::string node;
    size_t bytes = 0;
    std::function<void(ValidationEngine&)> handle;
  };
  struct Share {
    size_t events = 0;
    size_t bytes = 0;
  };
  // Rebuilds the validation with a witness, if it needs one and one is available.
  void BorrowWitness(std::unique_ptr<ActiveValidation>& admitted);
  void Push(std::string node, size_t bytes, bool may_be_lost,
            std::function<void(ValidationEngine&)> handle);
  void Loop();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(queue_mutex_) {
    return stopping_ || !queue_.empty();
  }

  const ValidationCollaborators with_;
  Clock& clock_;
  absl::Mutex queue_mutex_;
  std::deque<Event> queue_ ABSL_GUARDED_BY(queue_mutex_);
  std::map<std::string, Share> shares_ ABSL_GUARDED_BY(queue_mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(queue_mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(queue_mutex_) = false;
  absl::Mutex engine_mutex_;
  ValidationEngine engine_ ABSL_GUARDED_BY(engine_mutex_);
  std::atomic<bool> watches_ended_ = false;
  std::thread thread_;
};

}  // namespace muster::controller::validation
