// Calls into a driver that may never return.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"

namespace muster::burnin {

// The result of `call`, made in a thread of its own; nullopt if it does not arrive within
// `timeout`. The thread then stays behind, so `call` must own everything it touches. The result is
// moved.
template <typename T>
std::optional<T> RunBounded(Clock& clock, absl::Duration timeout, std::function<T()> call) {
  struct State {
    absl::Mutex mutex;
    std::optional<T> result;
    bool done = false;
  };
  const auto state = std::make_shared<State>();
  std::thread([state, call = std::move(call)] {
    T result = call();
    absl::MutexLock lock(&state->mutex);
    state->result = std::move(result);
    state->done = true;
  }).detach();
  absl::MutexLock lock(&state->mutex);
  clock.AwaitUntil(state->mutex, absl::Condition(&state->done), clock.Now() + timeout);
  return std::exchange(state->result, std::nullopt);
}

}  // namespace muster::burnin
