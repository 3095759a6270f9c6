// Backups of the controller that failed or are overdue.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/notify/notification.h"
#include "muster/v1/controller_records.pb.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::notify {

// What is to be told now, by what was told. A backup is overdue `longest` after the last one or,
// where there was none, after the first entry of the audit log; infinite: never.
absl::StatusOr<std::vector<Notification>> BackupNotices(Transaction& txn,
                                                        const v1::BackupRecord& last,
                                                        absl::Duration longest, absl::Time now);

}  // namespace muster::controller::notify
