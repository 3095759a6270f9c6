// People's certificates: signed, listed, denied.
#pragma once

#include <cstdint>
#include <string>
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

// Every act is one transaction and one entry of the audit log. Thread-safe; methods block for the
// store. The certificate that `muster init` makes is not in the store: it is the way back in.
class Users {
 public:
  // All references must outlive the object.
  Users(Store& store, const CertificateAuthority& ca, Denylist& denylist, Clock& clock)
      : store_(store), ca_(ca), denylist_(denylist), clock_(clock) {}

  // The certificate, PEM. InvalidArgument: a bad name or CSR, a role that is no person's.
  absl::StatusOr<std::string> Create(absl::string_view name, Role role, absl::string_view csr_pem,
                                     const Actor& actor);
  absl::StatusOr<std::vector<CertificateRecord>> List();
  // How many certificates were denied. NotFound: the name never had one.
  absl::StatusOr<uint32_t> Revoke(absl::string_view name, const Actor& actor);

 private:
  Store& store_;
  const CertificateAuthority& ca_;
  Denylist& denylist_;
  Clock& clock_;
};

}  // namespace muster::controller
