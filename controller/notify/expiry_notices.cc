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

bool EndsWithin(absl::Duration time, absl::Time end, absl::Time now) {
  return now < end && end - now <= time;
}

// A certificate of the controller, of which people are told `before` its end, and again when it
// ends within kLastNotice where the severity of the first notice is not yet the highest.
struct OwnCertificate {
  absl::string_view key;
  absl::Time CertificateEnds::*end;
  absl::Duration before;
  Severity severity;  // of the first notice
  absl::string_view name;
  absl::string_view loss;  // what is lost when it expires
  absl::string_view lost;  // the same, once it has expired
  absl::string_view remedy;
};
constexpr OwnCertificate kOwn[] = {
    {"authority", &CertificateEnds::authority, kAuthorityNotice, Severity::kCritical,
     "the cluster's authority", ", and every certificate with it",
     ", and every certificate with it", "see: muster ca status, muster ca rotate"},
    {"controller", &CertificateEnds::controller, kControllerNotice, Severity::kWarning,
     "the controller's certificate", ": agents and commands cannot connect after that",
     ": agents and commands can no longer connect",
     "run `muster ca renew-controller` there as root, then `systemctl restart musterd`"},
    {"web_certificate", &CertificateEnds::web, kLastNotice, Severity::kCritical,
     "the certificate of the web page", ": browsers refuse the page after that",
     ": browsers refuse the page",
     "replace web_certificate (see controller.yaml) if that was not done yet, then run `systemctl "
     "restart musterd`, which reads it only at its start"},
};

absl::Status AddOwn(Transaction& txn, const CertificateEnds& ends, absl::Time now,
                    std::vector<Notification>& notices) {
  for (const OwnCertificate& own : kOwn) {
    const absl::Time end = ends.*own.end;
    if (!EndsWithin(own.before, end, now)) continue;
    const bool is_last = own.severity != Severity::kCritical && EndsWithin(kLastNotice, end, now);
    Notification notice;
    notice.kind = kEnds;
    notice.severity = is_last ? Severity::kCritical : own.severity;
    notice.key = std::string(own.key);
    // The last notice differs from the first in its text: Add() drops a text that was told.
    notice.text =
        absl::StrCat(own.name, " expires ", is_last ? "soon, on " : "on ", Day(end), own.loss);
    notice.details = std::string(own.remedy);
    RETURN_IF_ERROR(Add(txn, std::move(notice), notices));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> OwnEndings(const CertificateEnds& ends, absl::Time now) {
  std::vector<std::string> endings;
  for (const OwnCertificate& own : kOwn) {
    const absl::Time end = ends.*own.end;
    if (end - now > own.before) continue;
    const bool is_over = end <= now;
    endings.push_back(absl::StrCat(own.name, is_over ? " expired on " : " expires on ", Day(end),
                                   is_over ? own.lost : own.loss, "; ", own.remedy));
  }
  return endings;
}

absl::StatusOr<std::vector<Notification>> ExpiryNotices(Transaction& txn,
                                                        const CertificateEnds& ends,
                                                        absl::Time now) {
  std::vector<Notification> notices;
  RETURN_IF_ERROR(AddOwn(txn, ends, now, notices));
  ASSIGN_OR_RETURN(const std::vector<CertificateRecord> all, txn.certificates().ListUsers());
  std::map<std::string, const CertificateRecord*> newest;  // that is valid, by person
  for (const CertificateRecord& each : all) {
    if (each.revoked_at.has_value()) continue;
    const CertificateRecord*& of = newest[each.user];
    if (of == nullptr || of->not_after < each.not_after) of = &each;
  }
  for (const auto& [user, certificate] : newest) {
    if (!EndsWithin(kPersonsNotice, certificate->not_after, now)) continue;
    Notification notice;
    notice.kind = kEnds;
    notice.key = absl::StrCat("user ", user);
    notice.text = absl::StrCat("the certificate of ", user, " (", certificate->role,
                               ") expires on ", Day(certificate->not_after));
    notice.details = absl::StrCat(
        "see: muster user list; an administrator makes another: "
        "muster user create ",
        user, " --role ", certificate->role);
    RETURN_IF_ERROR(Add(txn, std::move(notice), notices));
  }
  return notices;
}

}  // namespace muster::controller::notify
