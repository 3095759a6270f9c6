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

// A few threads that take tasks in the order in which they came. Thread-safe.
class TaskPool {
 public:
  static constexpr size_t kThreads = 4;
  static constexpr size_t kMaxWaiting = 32;

  using Task = std::function<void()>;

  explicit TaskPool(Clock& clock);  // must outlive the object
  ~TaskPool();                      // stops

  // ResourceExhausted: too many wait; the task is not done.
  absl::Status Do(Task task);
  // Waits for the tasks that are being done, and forgets the others.
  void Stop();

 private:
  absl::Time Step();

  absl::Mutex mutex_;
  std::deque<Task> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace muster::controller
