// Work that may take long, such as a change of which Slurm has to be told, apart from the threads
// that serve the page.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"

namespace muster {
class Clock;
}

namespace muster::controller {

// A few threads that take jobs in the order in which they came. Thread-safe.
class Hands {
 public:
  static constexpr size_t kHands = 4;
  static constexpr size_t kMaxWaiting = 32;

  using Job = std::function<void()>;

  explicit Hands(Clock& clock);  // must outlive the object
  ~Hands();                      // stops

  // ResourceExhausted: too many wait; the job is not done.
  absl::Status Do(Job job);
  // Waits for the jobs that are being done, and forgets the others.
  void Stop();

 private:
  absl::Time Step();

  absl::Mutex mutex_;
  std::deque<Job> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace muster::controller
