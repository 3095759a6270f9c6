// Long-lived calls, each with the certificate that it was admitted with.
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

// The gate checks a certificate when a call begins. A session or a watch stays open for days after
// that: this class ends it when its certificate expires or is denied. Thread-safe.
class OpenCalls {
 public:
  // Ends the call with `why`; the next sweep calls it again, and then it breaks the call off. Must
  // neither block nor call OpenCalls.
  using End = std::function<void(const absl::Status& why)>;

  // Removes the call on destruction, and waits for an End that is being called.
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

  // The references must outlive the object, and the object must outlive every entry.
  OpenCalls(const Denylist& denylist, Clock& clock) : denylist_(denylist), clock_(clock) {}

  // Ends all calls whose certificate is not valid any more. Call once a second, and at once after a
  // certificate was denied. Asks the denylist about new calls alone while it does not change: a
  // sweep over thousands of sessions would keep it from those that connect.
  void Sweep();

  Entry Add(Identity identity, End end);
  // Adds a call that is broken off without a status.
  Entry Add(Identity identity, grpc::ServerContextBase* context);

 private:
  struct Call {
    Identity identity;
    End end;
    uint64_t checked = 0;  // the generation of the denylist that did not deny it; 0: none
  };
  void Remove(uint64_t id);

  const Denylist& denylist_;
  Clock& clock_;
  absl::Mutex mutex_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, Call> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
