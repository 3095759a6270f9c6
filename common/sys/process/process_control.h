// Lets another thread talk to a running program and stop it.
#pragma once

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {

// Writes to the standard input of the program of one ProcessRunner::Run(), and stops the program.
// Calls before the program has started are kept; calls after its end change nothing. Thread-safe.
class ProcessControl {
 public:
  // Makes the descriptor that wakes the thread of Run(); if no descriptors are left, that thread
  // notices wishes late, when the program next produces output.
  ProcessControl();

  // Adds to the program's standard input.
  void Write(absl::string_view text);
  // The program reads end of file after the text written so far.
  void CloseInput();
  // The program's process group gets SIGTERM after `patience`, and SIGKILL five seconds later. Only
  // the first call counts.
  void Stop(absl::Duration patience = absl::ZeroDuration());

  // For implementations of ProcessRunner.
  struct Wishes {
    std::string input;
    bool close_input = false;
    std::optional<absl::Duration> stop_after;
  };
  // The wishes since the last call; all but `input` remain set.
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
