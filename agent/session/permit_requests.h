// The meeting point of a step that wants to reboot the node and the session with the controller.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/engine/reboot_gate.h"
#include "muster/v1/agent_session.pb.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

class AccountDatabase;
class Mailbox;

// Asks one question at a time and repeats it until it is answered, each time with the current jobs.
// Thread-safe.
class PermitRequests final : public RebootGate {
 public:
  static constexpr absl::Duration kRepeat = absl::Seconds(5);

  // `mailbox` is woken when a question is waiting. All references must outlive the object.
  PermitRequests(std::string boot_id, sys::FileSystem& files, AccountDatabase& accounts,
                 Mailbox& mailbox, Clock& clock);

  absl::StatusOr<v1::RebootPermit> Ask(const std::string& plan_id, const std::string& step_id,
                                       const std::string& reason,
                                       const std::function<bool()>& stopping) override;

  // The question to send now, if any. For a connected session.
  std::optional<v1::RebootRequest> TakeDue();
  // An answer to another question changes nothing.
  void OnAnswer(const v1::RebootAnswer& answer);

 private:
  bool IsAnswered() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return answer_.has_value(); }
  bool AwaitAnswer(const std::function<bool()>& stopping) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string boot_id_;
  sys::FileSystem& files_;
  AccountDatabase& accounts_;
  Mailbox& mailbox_;
  Clock& clock_;
  absl::Mutex mutex_;
  v1::RebootRequest question_ ABSL_GUARDED_BY(mutex_);  // empty request_id: none
  bool due_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<v1::RebootAnswer> answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
