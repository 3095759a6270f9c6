#include "controller/enrollment/denylist.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {

absl::Status Denylist::Load(Store& store) {
  absl::MutexLock loading(&loading_);
  std::vector<std::string> denied;
  std::vector<DeniedUserRecord> revoked;
  std::vector<CertificateRecord> known;
  RETURN_IF_ERROR(Annotate(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(denied, txn.certificates().ListDenied());
    ASSIGN_OR_RETURN(revoked, txn.certificates().ListDeniedUsers());
    ASSIGN_OR_RETURN(known, txn.certificates().ListUsers());
    return absl::OkStatus();
  }),
                           "reading the denied certificates"));
  absl::flat_hash_set<std::string> serials(std::make_move_iterator(denied.begin()),
                                           std::make_move_iterator(denied.end()));
  absl::flat_hash_map<std::string, Person> people;
  for (const DeniedUserRecord& each : revoked) people[each.name].denied_before = each.denied_before;
  for (const CertificateRecord& each : known) {
    const auto person = people.find(each.user);
    if (person != people.end() && !each.revoked_at.has_value())
      person->second.later.insert(each.serial);
  }
  absl::MutexLock lock(&mutex_);
  serials_ = std::move(serials);
  people_ = std::move(people);
  ++generation_;
  return absl::OkStatus();
}

bool Denylist::Contains(absl::string_view serial) const {
  absl::ReaderMutexLock lock(&mutex_);
  return serials_.contains(serial);
}

bool Denylist::Denies(const Identity& identity) const {
  if (Contains(identity.serial)) return true;
  if (identity.role == Role::kNode) return false;
  absl::ReaderMutexLock lock(&mutex_);
  const auto person = people_.find(identity.name);
  return person != people_.end() && identity.signed_at <= person->second.denied_before &&
         !person->second.later.contains(identity.serial);
}

absl::Status CheckStanding(const Identity& identity, const Denylist& denylist, absl::Time now) {
  if (denylist.Denies(identity)) {
    return absl::PermissionDeniedError(
        "this certificate is denied: it was revoked, or its node was removed or enrolled again");
  }
  if (now <= identity.expires_at) return absl::OkStatus();
  return absl::UnauthenticatedError(
      absl::StrCat("this certificate expired at ",
                   absl::FormatTime("%Y-%m-%d %H:%M:%SZ", identity.expires_at, absl::UTCTimeZone()),
                   "; the controller's clock says ",
                   absl::FormatTime("%Y-%m-%d %H:%M:%SZ", now, absl::UTCTimeZone())));
}

}  // namespace muster::controller
