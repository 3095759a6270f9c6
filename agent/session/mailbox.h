// Everything that waits for the session's thread, from the threads of gRPC, the engine and the
// facts.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/engine/engine.h"
#include "muster/v1/agent_session.pb.h"

namespace muster {
class Clock;
}

namespace muster::agent {

// Bounded: the controller's messages by the stream, which stops reading when kMaxReceived wait;
// progress by dropping; facts by one gathering at a time and one report after a reboot. Outlives
// engine, stream and session. Thread-safe.
class Mailbox final : public EngineListener {
 public:
  static constexpr size_t kMaxReceived = 32;

  // `note` is called with messages for the agent's log, from any thread.
  explicit Mailbox(std::function<void(absl::string_view)> note) : note_(std::move(note)) {}

  void OnReportsReady() override;
  void OnProgress(const v1::StepProgress& progress) override;
  void OnNote(absl::string_view note) override { note_(note); }

  // There is something new that the session polls for itself.
  void Wake();

  // Called by the stream. AddReceived returns how many messages are waiting now.
  size_t AddReceived(v1::ControllerMessage message);
  void SetBroken();
  void AddFacts(v1::FactsReport report);
  void SetStopping();
  bool stopping() const;

  // Everything that has arrived since the last call.
  struct Mail {
    std::deque<v1::ControllerMessage> received;
    std::deque<v1::FactsReport> facts;
    std::optional<v1::StepProgress> progress;
    bool reports_ready = false;
    bool woken = false;
    bool broken = false;
    bool stopping = false;
  };
  // Waits until there is anything, at most until `deadline`.
  Mail Take(Clock& clock, absl::Time deadline);
  // Waits until stopping; false when `deadline` came first.
  bool AwaitStop(Clock& clock, absl::Time deadline);
  // Forgets everything that an ended stream has left, and returns the facts that nobody has taken.
  std::deque<v1::FactsReport> ForgetStream();

 private:
  bool Any() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !mail_.received.empty() || !mail_.facts.empty() || mail_.progress.has_value() ||
           mail_.reports_ready || mail_.woken || mail_.broken || mail_.stopping;
  }

  const std::function<void(absl::string_view)> note_;
  mutable absl::Mutex mutex_;
  Mail mail_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
