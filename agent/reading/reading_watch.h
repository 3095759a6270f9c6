// Measures the node while the controller wants it.
#pragma once

#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "muster/v1/agent_session.pb.h"

namespace muster {
class Clock;
}

namespace muster::agent {

// A node that nobody watches does nothing. A reading that nobody has fetched is replaced by the
// next. Thread-safe.
class ReadingWatch {
 public:
  // A controller that asks for more is not believed.
  static constexpr absl::Duration kShortestInterval = absl::Seconds(1);
  static constexpr absl::Duration kLongestLease = absl::Minutes(2);

  // `read` measures, in a thread of the object's. `wake` is called when TakeDue() has something
  // new; it must not block or call the object. `clock` must outlive the object.
  ReadingWatch(std::function<v1::NodeReadings()> read, std::function<void()> wake, Clock& clock);

  void Start() { worker_.Start(); }
  void Stop() { worker_.Stop(); }

  void OnRequest(const v1::WatchReadings& request);
  // The connection is over: a controller that still wants readings says so again.
  void OnDisconnected();
  // The messages to send now.
  std::vector<v1::AgentMessage> TakeDue();

 private:
  absl::Time Step();

  const std::function<v1::NodeReadings()> read_;
  const std::function<void()> wake_;
  Clock& clock_;
  absl::Mutex mutex_;
  absl::Duration interval_ ABSL_GUARDED_BY(mutex_);
  absl::Time until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::vector<v1::AgentMessage> due_ ABSL_GUARDED_BY(mutex_);  // one at most
  Worker worker_;
};

}  // namespace muster::agent
