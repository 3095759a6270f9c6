// What was tried for the conditions of nodes, so that nothing is tried again too soon.
#pragma once

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/health/decision.h"

namespace muster::controller::health {

// Bounded: beyond kMost it forgets all, so that something may be tried once too often.
// Thread-safe.
class Tries {
 public:
  static constexpr size_t kMost = 20'000;
  // Between two tries, as after a refusal because of a job that is still running on the node.
  static constexpr absl::Duration kInterval = absl::Minutes(1);

  // Whether nothing was tried, or that was long enough ago. A clock that was set back does not hold
  // a try up.
  bool IsDue(const NodeCondition& key, absl::Time now) const;
  // Something was tried; until the next time `waits_for` says for people what the node waits for.
  void Note(const NodeCondition& key, absl::Time now, std::string waits_for);
  void Forget(const NodeCondition& key);
  // "": nothing was tried.
  std::string WaitsFor(const NodeCondition& key) const;

 private:
  struct Try {
    absl::Time next_at;
    std::string waits_for;
  };

  mutable absl::Mutex mutex_;
  std::map<NodeCondition, Try> tries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller::health
