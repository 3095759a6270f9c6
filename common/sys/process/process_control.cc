#include "common/sys/process/process_control.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace muster::sys {

ProcessControl::ProcessControl() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void ProcessControl::Write(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  wishes_.input.append(text.data(), text.size());
  Wake();
}

void ProcessControl::CloseInput() {
  absl::MutexLock lock(&mutex_);
  wishes_.close_input = true;
  Wake();
}

void ProcessControl::Stop(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  if (!wishes_.stop_after.has_value()) wishes_.stop_after = patience;
  Wake();
}

ProcessControl::Wishes ProcessControl::Take() {
  absl::MutexLock lock(&mutex_);
  uint64_t count;
  while (::read(wake_.get(), &count, sizeof(count)) > 0) {
  }
  Wishes taken = wishes_;
  wishes_.input.clear();
  return taken;
}

void ProcessControl::Wake() {
  const uint64_t one = 1;
  // Full means that it is already readable.
  (void)!::write(wake_.get(), &one, sizeof(one));
}

}  // namespace muster::sys
