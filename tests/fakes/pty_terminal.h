// A terminal of a given size whose screen a test can read.
#pragma once

#include <pty.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sys/unique_fd.h"
#include "tests/fakes/virtual_screen.h"

namespace muster::testing {

// While it lives, this process's standard output is a pseudo-terminal. Assertions that fail
// meanwhile are written there, too: first take the text to compare, then end the object, then
// compare.
class PtyTerminal {
 public:
  PtyTerminal(unsigned short columns, unsigned short rows) : screen_(columns, rows) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    int master = -1, slave = -1;
    if (openpty(&master, &slave, nullptr, nullptr, &size) != 0) abort();
    master_ = sys::UniqueFd(master);
    fflush(stdout);
    saved_ = sys::UniqueFd(dup(STDOUT_FILENO));
    dup2(slave, STDOUT_FILENO);
    close(slave);
    reader_ = std::thread([this] { Read(); });
  }
  ~PtyTerminal() { End(); }
  PtyTerminal(const PtyTerminal&) = delete;
  PtyTerminal& operator=(const PtyTerminal&) = delete;

  // Restores standard output, once everything written is on the screen.
  void End() {
    if (!reader_.joinable()) return;
    fflush(stdout);
    dup2(saved_.get(), STDOUT_FILENO);  // the last descriptor of the terminal's other side
    reader_.join();
  }

  // The screen, as soon as it is right; if it never is, its final state.
  std::string Await(const std::function<bool(const std::string& screen)>& is_right) {
    absl::MutexLock lock(&mutex_);
    const auto right = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return is_right(screen_.Text()); };
    mutex_.AwaitWithTimeout(absl::Condition(&right), absl::Seconds(10));
    return screen_.Text();
  }
  std::string Screen() {
    absl::MutexLock lock(&mutex_);
    return screen_.Text();
  }
  // Everything that was ever written.
  std::string Written() {
    absl::MutexLock lock(&mutex_);
    return written_;
  }
  // The screen's error, if something unknown was written.
  std::string Error() {
    absl::MutexLock lock(&mutex_);
    return screen_.error();
  }

 private:
  void Read() {
    char bytes[4096];
    for (ssize_t count; (count = read(master_.get(), bytes, sizeof(bytes))) > 0;) {
      absl::MutexLock lock(&mutex_);
      written_.append(bytes, static_cast<size_t>(count));
      screen_.Write(absl::string_view(bytes, static_cast<size_t>(count)));
    }
  }

  sys::UniqueFd master_, saved_;
  absl::Mutex mutex_;
  VirtualScreen screen_ ABSL_GUARDED_BY(mutex_);
  std::string written_ ABSL_GUARDED_BY(mutex_);
  std::thread reader_;
};

}  // namespace muster::testing
