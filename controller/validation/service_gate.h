// Lets nodes into Slurm's service that have passed a validation as what they are, and no others.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/slurm/slurm_control.h"
#include "controller/store/store.h"
#include "controller/validation/service_state.h"
#include "muster/v1/validation.pb.h"

namespace muster {
class Clock;
}

namespace muster::v1 {
class Facts;
}

namespace muster::controller {
struct NodePassRecord;
}

namespace muster::controller::validation {

// What a pass is bound to: sets gpu_uuids, driver_version and kernel.
void SetPassKeys(const v1::Facts& facts, NodePassRecord& pass);

// Looks at Slurm and the store about every half minute, and after each validation. Each change is
// stored and in the audit log. Thread-safe.
class ServiceGate {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(30);

  // The references must outlive the object. `warn` is told what keeps the thread's looks from their
  // work, once for each kind.
  ServiceGate(Store& store, slurm::SlurmControl& slurm, Clock& clock,
              std::function<void(absl::string_view)> warn)
      : store_(store), slurm_(slurm), clock_(clock), warn_(std::move(warn)) {}
  ~ServiceGate();  // stops

  void Start();
  void Stop();

  // A validation has ended for the node. Stores, and wakes the thread.
  void OnJudged(const std::string& node_uuid, const std::string& validation_id,
                v1::Outcome outcome);
  // As of the last look; empty: Slurm does not know the node.
  std::string ServiceOf(const std::string& node) const;

  // One look, in the caller's thread. The error says what Slurm or the store could not do; what
  // could be done is done.
  absl::Status Look();

 private:
  bool IsWoken() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || woken_; }

  Store& store_;
  slurm::SlurmControl& slurm_;
  Clock& clock_;
  const std::function<void(absl::string_view)> warn_;
  absl::Mutex look_mutex_;  // one look at a time
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::string> services_ ABSL_GUARDED_BY(mutex_);  // by node
  std::thread thread_;
};

}  // namespace muster::controller::validation
