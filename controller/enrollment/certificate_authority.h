// The cluster's certificate authority.
#pragma once

#include <string>
#include <utility>

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

// The CA certificates that this cluster trusts: one, or two while its authority changes.
struct Roots {
  std::string pem;
  std::string digest;  // SHA-256 (hex) over them, whatever their order
  size_t count = 0;
};

// Signs for nodes and users. Immutable, thread-safe; does not write to the store.
class CertificateAuthority {
 public:
  // An agent renews twice a day. The rest is for the time that a node, or the controller, is away:
  // a membership outlasts a long weekend, a holiday and the repair of a controller.
  static constexpr absl::Duration kNodeLifetime = absl::Hours(24 * 30);
  static constexpr absl::Duration kUserLifetime = absl::Hours(24 * 365);

  // Reads ca.crt, which may hold several certificates, and ca.key from `folder` (/etc/muster/pki).
  // FailedPrecondition, with the remedy: others may read the key, or it belongs to another
  // certificate. NotFound: there is no authority yet.
  static absl::StatusOr<CertificateAuthority> Load(const std::string& folder);
  // The root that the key (see pki::Authority) belongs to signs. FailedPrecondition: the key
  // belongs to none of the roots.
  static absl::StatusOr<CertificateAuthority> Create(absl::string_view roots_pem, std::string key);

  // The CSR provides its key and the proof of possession; every name comes from the arguments.
  absl::StatusOr<IssuedCertificate> IssueNode(absl::string_view csr_pem, absl::string_view uuid,
                                              absl::string_view node_name, absl::Time now) const;
  // REQUIRES: `role` is not kNode.
  absl::StatusOr<IssuedCertificate> IssueUser(absl::string_view csr_pem, absl::string_view user,
                                              Role role, absl::Time now,
                                              absl::Time not_after) const;

  // The roots that nodes and people get along with a certificate.
  const Roots& roots() const { return roots_; }
  // "sha256:<hex>" of the signing certificate.
  const std::string& pin() const { return pin_; }
  absl::Time ends_at() const { return ends_at_; }

  // Whether to trust a node's certificate that is missing from the store. During a change of the
  // authority, a certificate of the earlier authority is not trusted: its key may be the reason for
  // the change.
  bool MayAdopt(absl::string_view pem) const;

  // Whether the certificate comes from an earlier authority or was issued along with other roots:
  // its holder must renew it.
  bool IsBehind(const CertificateRecord& certificate) const;

 private:
  CertificateAuthority(pki::Authority authority, Roots roots, std::string pin, absl::Time ends_at)
      : authority_(std::move(authority)),
        roots_(std::move(roots)),
        pin_(std::move(pin)),
        ends_at_(ends_at) {}
  absl::StatusOr<IssuedCertificate> Issue(absl::string_view csr_pem, Role role,
                                          absl::string_view name, absl::string_view common_name,
                                          absl::Time now, absl::Time not_after) const;

  pki::Authority authority_;
  Roots roots_;
  std::string pin_;
  absl::Time ends_at_;
};

}  // namespace muster::controller
