// Carries out the controller's requests to Slurm beside the session.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/base/worker.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::agent {

// Takes requests without blocking, carries them out one after the other in a thread of its own and
// holds their answers ready for the session. Thread-safe.
class SlurmRequests {
 public:
  // The most waiting requests; more are refused.
  static constexpr size_t kMaxWaiting = 64;

  // `answer` carries a request out, in a thread of its own. `wake` is called when TakeDue() has
  // something new; it must not block or call the object.
  // `clock` must outlive the object, whose end waits for the request that is being carried out.
  SlurmRequests(std::function<v1::SlurmAnswer(const v1::SlurmRequest&)> answer,
                std::function<void()> wake, Clock& clock);

  void Start(v1::SlurmRequest request);
  // A connection has begun: requests from an earlier one are no longer waited for.
  void OnConnected();
  // The messages to send now.
  std::vector<v1::AgentMessage> TakeDue();

 private:
  // Carries out the request that has waited longest.
  absl::Time Step();

  const std::function<v1::SlurmAnswer(const v1::SlurmRequest&)> answer_;
  const std::function<void()> wake_;
  absl::Mutex mutex_;
  std::deque<v1::SlurmRequest> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::AgentMessage> due_ ABSL_GUARDED_BY(mutex_);
  uint64_t connection_ ABSL_GUARDED_BY(mutex_) = 0;
  Worker worker_;
};

}  // namespace muster::agent
