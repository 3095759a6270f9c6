// What the checks of drift policies tell: which nodes differ now, and which do not any more.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/notify/channel.h"
#include "controller/notify/notification.h"

namespace muster::controller {
class Inventory;
class Transaction;
struct EventRecord;
struct RunRecord;
}  // namespace muster::controller

namespace muster::controller::notify {

// What people are told when `check` has ended: nothing unless a policy asked for it. A node that
// differed before is no news.
absl::StatusOr<std::vector<Notification>> DriftNotices(Transaction& txn, const EventRecord& event,
                                                       const RunRecord& check,
                                                       const std::string& playbook);

// Ends what was told of policies and nodes that the inventory does not compare any more.
absl::Status EndDriftNotices(Transaction& txn, const Inventory& inventory,
                             const std::vector<ChannelConfig>& channels, absl::Time now,
                             std::set<std::string>* woken);

}  // namespace muster::controller::notify
