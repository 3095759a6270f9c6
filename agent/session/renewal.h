// Renews certificates: the agent asks for the next one after half a day, long before the present
// one ends.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/state/identity.h"

namespace grpc {
class Channel;
}
namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

struct CertificateLife {
  absl::Time not_before;
  absl::Time not_after;
};

// Errors: InvalidArgument when it is not a certificate.
absl::StatusOr<CertificateLife> ReadCertificateLife(const std::string& certificate_pem);

// When to renew: half a day after it was issued, or at half life where that is sooner, so that the
// rest is left for the times when nobody can renew. Up to a fifth of that time later by `jitter` in
// [0, 1), so that nodes that joined together do not renew together.
absl::Time RenewAt(const CertificateLife& life, double jitter);

// When to try again after a renewal failed at `now`: soon enough for many tries before the end.
absl::Time RetryRenewAt(const CertificateLife& life, absl::Time now);

// The same for a renewal that the controller told the node to make: somebody waits for it. `jitter`
// in [0, 1) keeps nodes that failed together apart.
absl::Time RetryToldRenewalAt(absl::Time now, double jitter);

// What an administrator must do about a clock that is before `made`, when `what` was made; empty:
// it is not.
std::string ClockRemedy(absl::Time made, absl::Time now, absl::string_view what);

// What an administrator must do about a certificate that is not valid at `now`; empty: it is valid.
std::string ValidityRemedy(const CertificateLife& life, absl::Time now,
                           const std::string& node_name);

// What to do about a connection that ended with `error` before the controller's welcome; empty:
// wait.
std::string RefusalRemedy(absl::string_view error);

// Makes a new key, asks the controller for its certificate and replaces the old pair by the new
// one. Blocks for the call, at most ten seconds, and the disk.
absl::Status Renew(const std::shared_ptr<grpc::Channel>& channel, const Identity& identity,
                   const Paths& paths, sys::FileSystem& files, Clock& clock);

}  // namespace muster::agent
