// The certificates that are valid by their dates and must not be let in any more.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/enrollment/identity.h"

namespace muster::controller {

class Store;

// The store's revoked certificates, in memory, since every RPC asks. Thread-safe.
class Denylist {
 public:
  // Takes the denied serials over from the store.
  absl::Status Load(Store& store);
  bool Contains(absl::string_view serial) const;

 private:
  // Held while reading the store too: an older list must not take the place of a newer one.
  absl::Mutex loading_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  absl::flat_hash_set<std::string> serials_ ABSL_GUARDED_BY(mutex_);
};

// Whether the bearer of a certificate may still speak: TLS asks once, when a connection begins.
// Unauthenticated: the certificate is over. PermissionDenied: it is denied.
absl::Status CheckStanding(const Identity& identity, const Denylist& denylist, absl::Time now);

}  // namespace muster::controller
