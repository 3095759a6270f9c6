#include "common/base/ticker.h"

#include <utility>

#include "common/base/clock.h"

namespace muster {

Ticker::Ticker(Clock& clock, absl::Duration interval, std::function<void()> work)
    : clock_(clock), interval_(interval), work_(std::move(work)) {}

Ticker::~Ticker() { Stop(); }

void Ticker::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Ticker::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Ticker::Loop() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (clock_.AwaitUntil(mutex_, absl::Condition(&is_stopping_), clock_.Now() + interval_))
        return;
    }
    work_();
  }
}

}  // namespace muster
