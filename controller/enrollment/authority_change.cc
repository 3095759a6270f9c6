#include "controller/enrollment/authority_change.h"

#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/enrollment/enrollment.h"
#include "controller/store/store.h"

namespace muster::controller {

absl::StatusOr<Behind> WhoIsBehind(Store& store, const CertificateAuthority& ca, absl::Time now) {
  Behind behind;
  std::vector<CertificateRecord> of_people;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(behind.nodes, txn.certificates().ListNodesBehind(ca.pin(), ca.roots().digest));
    ASSIGN_OR_RETURN(const std::vector<EnrollmentRecord> enrollments, txn.enrollments().List());
    for (const EnrollmentRecord& each : enrollments) {
      if (IsWaiting(each)) behind.nodes.emplace_back(each.node_uuid, each.node_name);
    }
    ASSIGN_OR_RETURN(of_people, txn.certificates().ListUsers());
    return absl::OkStatus();
  }));
  absl::flat_hash_set<std::string> renewed;
  for (const CertificateRecord& each : of_people) renewed.insert(each.replaces);
  std::set<std::string> people;
  for (const CertificateRecord& each : of_people) {
    const bool is_valid = !each.revoked_at.has_value() && each.not_after > now;
    if (is_valid && each.signed_by != ca.pin() && !renewed.contains(each.serial))
      people.insert(each.user);
  }
  behind.people.assign(people.begin(), people.end());
  return behind;
}

absl::Status NoteAuthority(Store& store, const CertificateAuthority& ca, absl::Time now) {
  return store.Update([&](Transaction& txn) -> absl::Status {
    const absl::StatusOr<CertificateRecord> newest = txn.certificates().Newest();
    if (absl::IsNotFound(newest.status())) return absl::OkStatus();
    RETURN_IF_ERROR(newest.status());
    // From before the authority was recorded: nobody knows whether it was another.
    if (newest->signed_by.empty() || !ca.IsBehind(*newest)) return absl::OkStatus();
    return Audit(txn, now, {"controller", ""}, "ca.change", ca.pin(),
                 absl::StrCat("signs from now on, ", CountedAre(ca.roots().count, "root"),
                              " trusted; before, ", newest->signed_by, " signed"));
  });
}

}  // namespace muster::controller
