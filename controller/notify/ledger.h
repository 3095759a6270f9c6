// What a notification becomes in the store.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "controller/notify/channel.h"
#include "controller/notify/notification.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::notify {

// A notification that says the same of the same thing within this time, and no more severely, is
// folded into the first.
inline constexpr absl::Duration kFoldTime = absl::Hours(1);

// Without what must not be in a header, on a terminal or on a page, and no longer than people read.
Notification Cleaned(Notification notification);

// Stores the notification, which must be cleaned, with a delivery for each channel that takes it;
// adds these channels to `woken`. What lasts has a row for each node, since it ends for one node
// after the other; messages fold them again. Folds a repetition into its row, and ignores the end
// of something that nobody was told of.
absl::Status Record(Transaction& txn, const Notification& notification,
                    const std::vector<ChannelConfig>& channels, absl::Time now,
                    std::set<std::string>* woken);

}  // namespace muster::controller::notify
