#include "controller/notify/expiry_notices.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::notify {
namespace {

constexpr char kEnds[] = "certificate.ends";

std::string Day(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

// Adds it, unless it was told.
absl::Status Add(Transaction& txn, Notification notice, std::vector<Notification>& notices) {
  ASSIGN_OR_RETURN(const std::optional<NotificationRecord> told,
                   txn.notifications().Newest(notice.kind, notice.key, ""));
  if (!told.has_value() || told->text != notice.text) notices.push_back(std::move(notice));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Notification>> ExpiryNotices(Transaction& txn, absl::Time authority_ends,
                                                        absl::Time now) {
  std::vector<Notification> notices;
  if (now < authority_ends && authority_ends - now <= kAuthorityNotice) {
    Notification notice;
    notice.kind = kEnds;
    notice.severity = Severity::kCritical;
    notice.key = "authority";
    notice.text = absl::StrCat("the cluster's authority ends on ", Day(authority_ends),
                               ", and every certificate with it");
    notice.details = "see: muster ca status, muster ca rotate";
    RETURN_IF_ERROR(Add(txn, std::move(notice), notices));
  }
  ASSIGN_OR_RETURN(const std::vector<CertificateRecord> all, txn.certificates().ListUsers());
  std::map<std::string, const CertificateRecord*> newest;  // that is valid, by person
  for (const CertificateRecord& each : all) {
    if (each.revoked_at.has_value()) continue;
    const CertificateRecord*& of = newest[each.user];
    if (of == nullptr || of->not_after < each.not_after) of = &each;
  }
  for (const auto& [user, certificate] : newest) {
    if (certificate->not_after <= now || certificate->not_after - now > kPersonsNotice) continue;
    Notification notice;
    notice.kind = kEnds;
    notice.key = absl::StrCat("user ", user);
    notice.text = absl::StrCat("the certificate of ", user, " (", certificate->role, ") ends on ",
                               Day(certificate->not_after));
    notice.details = absl::StrCat(
        "see: muster user list; an administrator makes another: "
        "muster user create ",
        user, " --role ", certificate->role);
    RETURN_IF_ERROR(Add(txn, std::move(notice), notices));
  }
  return notices;
}

}  // namespace muster::controller::notify
