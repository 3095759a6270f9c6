// Writes one entry of the audit log inside the transaction of the action itself: no action without
// its entry.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

struct Actor;
class Transaction;

absl::Status Audit(Transaction& txn, absl::Time now, const Actor& actor, absl::string_view action,
                   absl::string_view subject, absl::string_view detail);

}  // namespace muster::controller
