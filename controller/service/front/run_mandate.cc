#include "controller/service/front/run_mandate.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/denylist.h"
#include "controller/enrollment/identity.h"
#include "controller/service/front/authorization.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kCreateRun = "/muster.v1.RunService/CreateRun";

// The role must not be lower than the one with which the run was requested: an operator may not run
// everything that an administrator may.
bool MayCreateRuns(const CertificateRecord& certificate, Role least, absl::Time now) {
  const absl::StatusOr<Role> role = ParseRole(certificate.role);
  return role.ok() && *role >= least && !certificate.revoked_at.has_value() &&
         now <= certificate.not_after &&
         Authorize(kCreateRun, {*role, certificate.user, certificate.serial}).ok();
}

}  // namespace

absl::Status CheckMandate(const RunMandate& mandate, Store& store, const Denylist& denylist,
                          absl::Time now) {
  // A policy has no certificate: it acts by the inventory and by approvals, both of which are
  // administrators', and the approval is asked for with every run.
  if (!PolicyOf(mandate.actor).empty()) return absl::OkStatus();
  // The controller reboots nodes by the health policy, which is an administrator's, too.
  if (mandate.actor == ControllerActor().name) return absl::OkStatus();
  absl::StatusOr<Identity> person = ParseActor(mandate.actor);
  if (!person.ok() || mandate.serial.empty())
    return absl::PermissionDeniedError("the certificate that requested the run is unknown");
  person->serial = mandate.serial;
  person->signed_at = mandate.asked_at;  // at the latest
  if (denylist.Denies(*person))
    return absl::PermissionDeniedError(
        absl::StrCat("the certificate of ", mandate.actor, ", who requested it, was revoked"));
  RETURN_IF_ERROR(Authorize(kCreateRun, *person));
  if (now <= mandate.certificate_ends) return absl::OkStatus();
  std::vector<CertificateRecord> certificates;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(certificates, txn.certificates().ListUsers());
    return absl::OkStatus();
  }));
  if (std::any_of(certificates.begin(), certificates.end(), [&](const CertificateRecord& each) {
        return each.user == person->name && MayCreateRuns(each, person->role, now);
      })) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the certificate of ", mandate.actor,
                   ", who requested it, has expired, and there is no newer one"));
}

}  // namespace muster::controller
