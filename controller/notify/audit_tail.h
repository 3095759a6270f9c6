// The notifications that the audit log gives: whatever happens there is written in the transaction
// that does it, so nothing is missed while the controller is down.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/notify/channel.h"
#include "controller/notify/notification.h"

namespace muster::controller {
class Transaction;
struct EventRecord;
}  // namespace muster::controller

namespace muster::controller::notify {

// What people are told of an entry: mostly nothing. Reads what the entry is about from the same
// transaction; an entry about something that is gone tells nothing.
absl::StatusOr<std::vector<Notification>> NotificationsOf(Transaction& txn,
                                                          const EventRecord& event);

// Reads on from where the last call ended, at most kMaxEvents entries, and records what they give.
// Begins at the end of the log the first time: what happened before is no news. True: there is
// more.
inline constexpr uint32_t kMaxEvents = 200;
absl::StatusOr<bool> ReadAuditLog(Transaction& txn, const std::vector<ChannelConfig>& channels,
                                  absl::Time now, std::set<std::string>* woken);

}  // namespace muster::controller::notify
