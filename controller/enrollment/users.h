// Signs, lists and denies people's certificates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/enrollment/identity.h"
#include "controller/store/tables.h"

namespace muster {
class Clock;
}

namespace muster::controller {

struct Actor;
class CertificateAuthority;
class Denylist;
class Store;

// What the revocation of a person did.
struct UserRevocation {
  uint32_t certificates = 0;  // that were valid before
  bool is_known = false;      // whether the store had any certificate of that name
};

// Every action is one transaction and one entry of the audit log. Thread-safe; methods block for
// the store. The certificate that `muster init` makes is not in the store: it is the way back in.
class Users {
 public:
  // All references must outlive the object. `on_denied` is called when certificates were denied:
  // sessions that use them must end.
  Users(Store& store, const CertificateAuthority& ca, Denylist& denylist, Clock& clock,
        std::function<void()> on_denied)
      : store_(store),
        ca_(ca),
        denylist_(denylist),
        clock_(clock),
        on_denied_(std::move(on_denied)) {}

  // Returns the certificate, PEM. InvalidArgument: a bad name or CSR, or a role that is not a
  // person's.
  absl::StatusOr<std::string> Create(absl::string_view name, Role role, absl::string_view csr_pem,
                                     const Actor& actor);
  // Issues `who`'s certificate again, for the CSR's key and with the same end: renewal extends
  // nobody's access. FailedPrecondition: it comes from the authority that signs now.
  // ResourceExhausted: a dozen within the hour. PermissionDenied: it was revoked, or the store does
  // not know it.
  absl::StatusOr<std::string> Renew(const Identity& who, absl::string_view csr_pem,
                                    const Actor& actor);
  absl::StatusOr<std::vector<CertificateRecord>> List();
  // Denies every certificate of that name that was signed until now, also those that the store does
  // not know. InvalidArgument: a bad name. FailedPrecondition: it would deny `who`'s own
  // certificate, which the store does not know: it may be the way back in.
  absl::StatusOr<UserRevocation> Revoke(const Identity& who, absl::string_view name,
                                        const Actor& actor);

 private:
  Store& store_;
  const CertificateAuthority& ca_;
  Denylist& denylist_;
  Clock& clock_;
  const std::function<void()> on_denied_;
};

}  // namespace muster::controller
