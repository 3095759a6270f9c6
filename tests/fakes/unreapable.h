// A process that SIGKILL does not remove.
#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

namespace muster::testing {

// Holds a process like a kernel call that does not return (state D), which cannot be produced at
// will: by a tracer that ignores its end, so that its parent cannot reap it (ptrace(2)). Lasts as
// long as this object.
class Unreapable {
 public:
  Unreapable() = default;
  Unreapable(const Unreapable&) = delete;
  Unreapable& operator=(const Unreapable&) = delete;
  ~Unreapable() { Release(); }

  // Returns once the process is held.
  void Hold(pid_t pid) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    tracer_ = ::fork();
    if (tracer_ == 0) {
      const int error = ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? 0 : errno;
      (void)!::write(ready[1], &error, sizeof error);
      for (;;) ::pause();
    }
    int error = -1;
    EXPECT_EQ(::read(ready[0], &error, sizeof error), static_cast<ssize_t>(sizeof error));
    for (const int fd : ready) ::close(fd);
    ASSERT_EQ(error, 0) << "ptrace: " << ::strerror(error);
  }

  void Release() {
    if (tracer_ <= 0) return;
    ::kill(tracer_, SIGKILL);
    ::waitpid(tracer_, nullptr, 0);
    tracer_ = -1;
  }

 private:
  pid_t tracer_ = -1;
};

}  // namespace muster::testing
