// Certificates that are valid by their dates but must not be accepted any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/enrollment/identity.h"

namespace muster::controller {

class Store;

// The store's revoked certificates and people, cached in memory because every RPC checks them.
// Thread-safe.
class Denylist {
 public:
  // Copies from the store what is denied.
  absl::Status Load(Store& store);
  bool Contains(absl::string_view serial) const;
  // Whether the list contains the certificate, or its person was revoked after it was signed. Only
  // a certificate that the store does not know is judged by when it was signed: one that is stored
  // and not revoked was signed later, even in the same second or by a clock that was set back.
  bool Denies(const Identity& identity) const;
  // Grows with each Load(). Whoever asks Denies() again only when it has grown, and has read it
  // before asking, misses nothing.
  uint64_t generation() const { return generation_.load(); }

 private:
  struct Person {
    absl::Time denied_before;
    absl::flat_hash_set<std::string> later;  // serials that were signed afterwards
  };

  // Held while reading the store too: an older list must not replace a newer one.
  absl::Mutex loading_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  absl::flat_hash_set<std::string> serials_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Person> people_ ABSL_GUARDED_BY(mutex_);  // by name
  std::atomic<uint64_t> generation_ = 1;  // grows under mutex_, after the lists have changed
};

// Whether the bearer of a certificate may still call: TLS checks only once, when a connection
// begins. Unauthenticated: the certificate has expired. PermissionDenied: it is denied.
absl::Status CheckStanding(const Identity& identity, const Denylist& denylist, absl::Time now);

}  // namespace muster::controller
