// Decides which refusals of strangers become entries of the audit log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster::controller {

// At most one entry for each address and hour, and kMaxEntries an hour for all addresses together:
// a peer without a certificate can neither grow the log at will nor hide one address behind
// another's noise. Refusals without an entry are counted, and the first entry of a later hour gives
// their number. IPv6 addresses count by their /64, within which one machine or network may choose.
// Thread-safe.
class RefusalLog {
 public:
  static constexpr absl::Duration kInterval = absl::Hours(1);
  static constexpr size_t kMaxEntries = 100;

  // The note, mostly "", with which the entry for this refusal mentions earlier refusals without an
  // entry. nullopt: this refusal gets no entry. `peer` is gRPC's "ipv4:10.0.0.1:3456".
  std::optional<std::string> Note(absl::string_view peer, absl::Time now);

 private:
  // A note on the refusals without an entry of the hour that has ended.
  std::string TellPassedOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  absl::Time begin_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // of this hour
  // Addresses with an entry in this hour, with the number of their refusals since.
  absl::flat_hash_map<std::string, uint64_t> logged_ ABSL_GUARDED_BY(mutex_);
  uint64_t others_ ABSL_GUARDED_BY(mutex_) = 0;  // refusals of addresses without an entry
};

}  // namespace muster::controller
