#include "controller/enrollment/users.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/user_name.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/enrollment/denylist.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/key_line.h"
#include "controller/store/store.h"

namespace muster::controller {
absl::StatusOr<std::string> Users::Create(absl::string_view name, Role role,
                                          absl::string_view csr_pem, const Actor& actor) {
  RETURN_IF_ERROR(ValidateUserName(name));
  if (role == Role::kNode)
    return absl::InvalidArgumentError("a person's role must be viewer, operator or admin");
  const absl::Time now = clock_.Now();
  ASSIGN_OR_RETURN(
      const IssuedCertificate issued,
      ca_.IssueUser(csr_pem, name, role, now, now + CertificateAuthority::kUserLifetime));
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.certificates().Insert(issued.record));
    return Audit(txn, now, actor, "user.create", name,
                 absl::StrCat(RoleName(role), ", certificate ", issued.record.serial));
  }));
  // If the person was revoked before, the list must know that this one was signed afterwards.
  RETURN_IF_ERROR(denylist_.Load(store_));
  return issued.pem;
}

absl::StatusOr<std::string> Users::Renew(const Identity& who, absl::string_view csr_pem,
                                         const Actor& actor) {
  const absl::Time now = clock_.Now();
  const absl::Time end = std::min(who.expires_at, now + CertificateAuthority::kUserLifetime);
  ASSIGN_OR_RETURN(IssuedCertificate issued, ca_.IssueUser(csr_pem, who.name, who.role, now, end));
  issued.record.replaces = who.serial;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    // A certificate that the store does not know may come from whoever has stolen the earlier
    // authority's key, and would outlive that authority.
    const absl::StatusOr<CertificateRecord> shown = txn.certificates().Get(who.serial);
    if (absl::IsNotFound(shown.status()))
      return absl::PermissionDeniedError(
          "the store does not know this certificate, so it is not renewed: `muster ca rotate` on "
          "the controller renews the certificate of `muster init` itself; make others again with "
          "`muster user create`");
    RETURN_IF_ERROR(shown.status());
    // The gate checked the list in memory; a revocation may have happened since.
    if (shown->revoked_at.has_value())
      return absl::PermissionDeniedError("this certificate is denied: it was revoked");
    if (!ca_.IsBehind(*shown))
      return absl::FailedPreconditionError(
          "nothing to renew: this certificate is from the current authority");
    ASSIGN_OR_RETURN(std::vector<CertificateRecord> own, txn.certificates().ListUsers());
    std::erase_if(own, [&](const CertificateRecord& each) { return each.user != who.name; });
    RETURN_IF_ERROR(CheckPace(own, who.name, now));
    RETURN_IF_ERROR(txn.certificates().Insert(issued.record));
    return Audit(txn, now, actor, "user.renew", who.name,
                 absl::StrCat("certificate ", issued.record.serial, " in place of ", who.serial));
  }));
  RETURN_IF_ERROR(denylist_.Load(store_));
  return issued.pem;
}

absl::StatusOr<std::vector<CertificateRecord>> Users::List() {
  std::vector<CertificateRecord> certificates;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(certificates, txn.certificates().ListUsers());
    return absl::OkStatus();
  }));
  return certificates;
}

absl::StatusOr<UserRevocation> Users::Revoke(const Identity& who, absl::string_view name,
                                             const Actor& actor) {
  const absl::Time now = clock_.Now();
  UserRevocation denied;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<CertificateRecord> all, txn.certificates().ListUsers());
    denied = {};
    bool is_own_known = false;
    for (const CertificateRecord& certificate : all) {
      if (certificate.user != name) continue;
      denied.is_known = true;
      denied.certificates += !certificate.revoked_at.has_value() && certificate.not_after > now;
      is_own_known |= certificate.serial == who.serial;
    }
    // A name that certificates cannot have any more may still be denied where some have it.
    if (!denied.is_known) RETURN_IF_ERROR(ValidateUserName(name));
    if (who.name == name && !is_own_known)
      return absl::FailedPreconditionError(absl::StrCat(
          "that would deny the certificate that you are using, which is not in `muster user list` "
          "and may be the only way in, as the one of `muster init`: make another administrator "
          "(`muster user create NAME --role admin`), and revoke ",
          name, " with those credentials"));
    RETURN_IF_ERROR(txn.certificates().RevokeByUser(name, now));
    return Audit(
        txn, now, actor, "user.revoke", name,
        denied.is_known ? Counted(denied.certificates, "certificate") : "no certificate is known");
  }));
  RETURN_IF_ERROR(denylist_.Load(store_));
  on_denied_();
  return denied;
}

}  // namespace muster::controller
