// What another thread may want of a program that runs.
#pragma once

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {

// Writes to the standard input of the program of one ProcessRunner::Run(), and ends it. Calls that
// come before the program has started are kept; those after its end change nothing. Thread-safe.
class ProcessControl {
 public:
  // What wakes the thread of Run(); without descriptors left that thread sees wishes late, with
  // the program's next sign of life.
  ProcessControl();

  // Adds to the program's standard input.
  void Write(absl::string_view text);
  // The program reads its end of input after what was written.
  void CloseInput();
  // The program's process group gets SIGTERM after `patience`, and SIGKILL five seconds later. The
  // first call counts.
  void Stop(absl::Duration patience = absl::ZeroDuration());

  // For implementations of ProcessRunner.
  struct Wishes {
    std::string input;
    bool close_input = false;
    std::optional<absl::Duration> stop_after;
  };
  // What came since the last call; the others but `input` hold on.
  Wishes Take();
  // Readable while Take() has something new. -1: none.
  int wake_fd() const { return wake_.get(); }

 private:
  void Wake();

  UniqueFd wake_;  // an eventfd
  absl::Mutex mutex_;
  Wishes wishes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::sys
