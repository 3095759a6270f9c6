// What the session has to say about the renewal of this node's certificate.
#pragma once

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster::agent::health {

// Why the last attempt of this connection failed. Thread-safe.
class RenewalTrouble {
 public:
  // "": none has failed since the agent connected, or tried to.
  void Set(std::string why) {
    absl::MutexLock lock(&mutex_);
    why_ = std::move(why);
  }
  std::string Get() const {
    absl::MutexLock lock(&mutex_);
    return why_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::string why_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent::health
