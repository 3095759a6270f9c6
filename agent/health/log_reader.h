// The one reader of the kernel's log.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/health/log_record.h"
#include "common/sys/unique_fd.h"

namespace muster::agent::health {

// Reads /dev/kmsg in a thread of its own, as records come. Its memory is bounded, and a flood costs
// it no more than a part of a core: what the kernel drops meanwhile is counted. A file that cannot
// be opened, or that ends, is opened again. Thread-safe.
class LogReader {
 public:
  // `position`: where an earlier agent ended in this boot. `take` is called in the reader's thread
  // for each record that was not read before; its text lives as long as the call.
  LogReader(std::string path, LogPosition position, std::function<void(const LogRecord&)> take);
  ~LogReader();  // stops

  void Start();
  void Stop();

  struct State {
    absl::Status status;     // why nothing can be read
    uint64_t rounds = 0;     // rises at least twice a minute while the thread lives
    uint64_t lost = 0;       // dropped by the kernel
    uint64_t malformed = 0;  // lines that are no records
  };
  State state() const;

 private:
  void Loop();
  // Until the file ends, cannot be read or the reader is stopped.
  absl::Status ReadAll(int fd);
  void Take(absl::string_view line);
  // False: stop. `fd`: readable ends the wait, too; -1: none.
  bool Wait(int fd, absl::Duration duration);
  void Note(absl::Status status);

  const std::string path_;
  const std::function<void(const LogRecord&)> take_;
  const sys::UniqueFd stop_;
  mutable absl::Mutex mutex_;
  LogPosition position_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  uint64_t rounds_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t malformed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace muster::agent::health
