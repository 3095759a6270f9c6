#include "controller/notify/backup_notices.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::notify {
namespace {

constexpr char kFailed[] = "backup.failed";
constexpr char kOverdue[] = "backup.overdue";
constexpr char kKey[] = "controller";

std::string Minute(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

Notification AboutBackup(absl::string_view kind, std::string text, absl::Time at) {
  Notification made;
  made.kind = std::string(kind);
  made.severity = Severity::kWarning;
  made.key = kKey;
  made.text = std::move(text);
  made.details = "see: muster backup create; docs/operations.md, Backup";
  made.at = at;
  return made;
}

}  // namespace

absl::StatusOr<std::vector<Notification>> BackupNotices(Transaction& txn,
                                                        const v1::BackupRecord& last,
                                                        absl::Duration longest, absl::Time now) {
  std::vector<Notification> notices;
  if (last.has_failed_at()) {
    const absl::Time failed_at = ToTime(last.failed_at());
    ASSIGN_OR_RETURN(const std::optional<NotificationRecord> told,
                     txn.notifications().Newest(kFailed, kKey, ""));
    if (!told.has_value() || told->last_at < failed_at)
      notices.push_back(AboutBackup(kFailed,
                                    absl::StrCat("the backup of the controller of ",
                                                 Minute(failed_at), " failed: ", last.error()),
                                    failed_at));
  }
  std::optional<absl::Time> since;
  if (last.has_made_at()) {
    since = ToTime(last.made_at());
  } else {
    ASSIGN_OR_RETURN(const std::vector<EventRecord> first, txn.events().ListAfter(0, 1));
    if (!first.empty()) since = first.front().time;
  }
  const bool is_overdue = since.has_value() && now - *since > longest;
  ASSIGN_OR_RETURN(const std::optional<NotificationRecord> told,
                   txn.notifications().Newest(kOverdue, kKey, ""));
  const bool is_told = told.has_value() && !told->ended_at.has_value();
  if (is_overdue == is_told) return notices;
  if (is_overdue) {
    notices.push_back(
        AboutBackup(kOverdue,
                    last.has_made_at()
                        ? absl::StrCat("the last backup of the controller is of ", Minute(*since))
                        : "the controller has no backup",
                    now));
  } else {
    notices.push_back(
        AboutBackup(kOverdue, absl::StrCat("the controller has a backup: ", last.file()), now));
    notices.back().severity = Severity::kInfo;
    notices.back().resolved = true;
  }
  return notices;
}

}  // namespace muster::controller::notify
