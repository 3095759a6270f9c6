// Certificates that end soon: those of people, and the cluster's authority. Nodes renew their own.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/notify/notification.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::notify {

inline constexpr absl::Duration kPersonsNotice = absl::Hours(24 * 14);
inline constexpr absl::Duration kAuthorityNotice = absl::Hours(24 * 90);

// What was told of the same certificate is not told again while the store has it. `authority_ends`
// InfiniteFuture(): it is not known.
absl::StatusOr<std::vector<Notification>> ExpiryNotices(Transaction& txn, absl::Time authority_ends,
                                                        absl::Time now);

}  // namespace muster::controller::notify
