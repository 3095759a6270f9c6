// Which refusals of strangers become entries of the audit log.
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

// One entry for each address and hour, and kMaxEntries an hour for all addresses together: who has
// no certificate can neither grow the log at will nor hide one address behind another's noise.
// What is passed over is counted, and the first entry of a later hour tells how much it was. An
// address of IPv6 counts by its /64, which is one machine's or one network's to choose from.
// Thread-safe.
class RefusalLog {
 public:
  static constexpr absl::Duration kInterval = absl::Hours(1);
  static constexpr size_t kMaxEntries = 100;

  // What the entry for this refusal has to say of those before it that have none: "" mostly.
  // nullopt: this refusal gets no entry. `peer` is gRPC's "ipv4:10.0.0.1:3456".
  std::optional<std::string> Note(absl::string_view peer, absl::Time now);

 private:
  // What the hour that is over had without an entry.
  std::string TellPassedOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  absl::Time begin_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // of this hour
  // Addresses with an entry in this hour, with their refusals since.
  absl::flat_hash_map<std::string, uint64_t> logged_ ABSL_GUARDED_BY(mutex_);
  uint64_t others_ ABSL_GUARDED_BY(mutex_) = 0;  // refusals of addresses without an entry
};

}  // namespace muster::controller
