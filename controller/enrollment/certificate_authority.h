// The cluster's certificate authority.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/authority.h"
#include "controller/enrollment/identity.h"
#include "controller/store/tables.h"

namespace muster::controller {

struct IssuedCertificate {
  std::string pem;
  CertificateRecord record;  // for the store
};

// Signs for nodes and users. Immutable, thread-safe; does not write the store.
class CertificateAuthority {
 public:
  static constexpr absl::Duration kNodeLifetime = absl::Hours(24);
  static constexpr absl::Duration kUserLifetime = absl::Hours(24 * 365);
  // Certificates begin in the past, because the clocks of fresh machines are off.
  static constexpr absl::Duration kBackdate = absl::Minutes(5);

  // Reads ca.crt and ca.key of `folder` (/etc/muster/pki). FailedPrecondition, with the remedy: a
  // key that others may read, a key of another certificate. NotFound: there is none yet.
  static absl::StatusOr<CertificateAuthority> Load(const std::string& folder);
  // FailedPrecondition when key and certificate are no CA together.
  static absl::StatusOr<CertificateAuthority> Create(pki::Authority authority);

  // The CSR gives its key and the proof of possession; every name comes from the arguments.
  absl::StatusOr<IssuedCertificate> IssueNode(absl::string_view csr_pem, absl::string_view uuid,
                                              absl::string_view node_name, absl::Time now) const;
  // REQUIRES: `role` is not kNode.
  absl::StatusOr<IssuedCertificate> IssueUser(absl::string_view csr_pem, absl::string_view user,
                                              Role role, absl::Time now) const;

  const std::string& certificate_pem() const { return authority_.certificate_pem; }
  // "sha256:<hex>" of the CA's certificate, by which the join command knows it.
  const std::string& pin() const { return pin_; }
  absl::Time ends_at() const { return ends_at_; }

 private:
  CertificateAuthority(pki::Authority authority, std::string pin, absl::Time ends_at)
      : authority_(std::move(authority)), pin_(std::move(pin)), ends_at_(ends_at) {}
  absl::StatusOr<IssuedCertificate> Issue(absl::string_view csr_pem, Role role,
                                          absl::string_view name, absl::string_view common_name,
                                          absl::Time now, absl::Duration lifetime) const;

  pki::Authority authority_;
  std::string pin_;
  absl::Time ends_at_;
};

}  // namespace muster::controller
