// The calls that stay open for long, each under the certificate that it was let in with.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/enrollment/identity.h"

namespace grpc {
class ServerContextBase;
}
namespace muster {
class Clock;
}

namespace muster::controller {

class Denylist;

// The gate looks at a certificate when a call begins. A session or a watch goes on for days after
// that: this ends it when its certificate is over or denied. Thread-safe.
class OpenCalls {
 public:
  // Ends the call with `why`; told again, by the next sweep, it breaks the call off. Must neither
  // block nor come back to OpenCalls.
  using End = std::function<void(const absl::Status& why)>;

  // Takes the call out when it goes, and waits for an End that is being told.
  class Entry {
   public:
    Entry() = default;
    Entry(OpenCalls* calls, uint64_t id) : calls_(calls), id_(id) {}
    Entry(Entry&& other) noexcept : calls_(std::exchange(other.calls_, nullptr)), id_(other.id_) {}
    Entry& operator=(Entry&& other) noexcept {
      std::swap(calls_, other.calls_);
      std::swap(id_, other.id_);
      return *this;
    }
    ~Entry() {
      if (calls_ != nullptr) calls_->Remove(id_);
    }

   private:
    OpenCalls* calls_ = nullptr;
    uint64_t id_ = 0;
  };

  // The references must outlive the object, and the object every entry.
  OpenCalls(const Denylist& denylist, Clock& clock) : denylist_(denylist), clock_(clock) {}

  // Ends all calls whose certificate is no good any more. Call it once a second, and at once when a
  // certificate was denied.
  void Sweep();

  Entry Add(Identity identity, End end);
  // A call that is broken off without a word.
  Entry Add(Identity identity, grpc::ServerContextBase* context);

 private:
  struct Call {
    Identity identity;
    End end;
  };
  void Remove(uint64_t id);

  const Denylist& denylist_;
  Clock& clock_;
  absl::Mutex mutex_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, Call> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
