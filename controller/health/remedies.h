// What is begun for nodes that are held for their health: re-tests and reboots.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/health/reboots.h"
#include "controller/health/retests.h"

namespace muster {
class Clock;
}

namespace muster::controller::health {

// What the newest decision wants begun, by node and condition, and the rollouts of reboots that
// nobody wants any more.
struct DueRemedies {
  std::map<NodeCondition, DueRetest> retests;
  std::map<NodeCondition, DueReboot> reboots;
  std::vector<std::string> call_offs;
};

// Begins them one after the other in a thread of its own: each may wait half a minute for a Slurm
// that hangs, and no drain and no notice waits with it. Thread-safe.
class Remedies {
 public:
  // The references must outlive the object. Whoever decides by the stored drains and then writes
  // them holds `rows` meanwhile.
  Remedies(Store& store, absl::Mutex& rows, StartValidation start_validation, RebootWork reboot,
           Clock& clock);

  void Start() { worker_.Start(); }
  void Stop() { worker_.Stop(); }
  // Takes the place of what was due and has not begun. Does not block.
  void Set(DueRemedies due);
  // Begins all that is due, each once, in the caller's thread.
  absl::Time Step();

  // See Retests and Reboots.
  std::string RetestWaitsFor(const NodeCondition& key) const { return retests_.WaitsFor(key); }
  std::string RebootWaitsFor(const NodeCondition& key) const { return reboots_.WaitsFor(key); }

 private:
  // Ends the rollouts that nobody wants, also between two others that begin.
  void CallOff();
  template <typename Due, typename Beginner>
  void BeginEach(std::map<NodeCondition, Due> DueRemedies::*list, Beginner& beginner);

  Clock& clock_;
  Retests retests_;
  Reboots reboots_;
  absl::Mutex mutex_;
  DueRemedies due_ ABSL_GUARDED_BY(mutex_);
  Worker worker_;
};

}  // namespace muster::controller::health
