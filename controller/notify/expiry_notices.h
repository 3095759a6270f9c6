// Certificates that end soon: those of people, of the controller and of the cluster's authority.
// Nodes renew their own.
#pragma once

#include <string>
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
// The controller's own is announced twice.
inline constexpr absl::Duration kControllerNotice = absl::Hours(24 * 90);
inline constexpr absl::Duration kLastNotice = absl::Hours(24 * 14);

// The ends of the certificates that this process uses; InfiniteFuture(): it is not known, or there
// is none.
struct CertificateEnds {
  absl::Time authority = absl::InfiniteFuture();
  absl::Time controller = absl::InfiniteFuture();  // controller.crt
  // web_certificate of controller.yaml. Certificates for browsers may last 90 days in all, so it is
  // announced at kLastNotice alone.
  absl::Time web = absl::InfiniteFuture();
};

// The controller's own certificates that end as soon, or have ended, each in a line for the log.
std::vector<std::string> OwnEndings(const CertificateEnds& ends, absl::Time now);

// What was told of the same certificate is not told again while the store has it.
absl::StatusOr<std::vector<Notification>> ExpiryNotices(Transaction& txn,
                                                        const CertificateEnds& ends,
                                                        absl::Time now);

}  // namespace muster::controller::notify
