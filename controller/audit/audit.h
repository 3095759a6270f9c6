// The one way into the audit log.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

class Transaction;

// Who does something, and from where.
struct Actor {
  std::string name;  // "admin:alice", "node:<uuid>", "policy:nightly", "controller"
  std::string peer;  // the caller's address; empty: the controller itself
};

// The controller, which acts by itself.
Actor ControllerActor();
// An agent; `peer` as of Actor.
Actor NodeActor(absl::string_view uuid, absl::string_view peer = "");
// An update policy of the inventory, which acts by itself.
Actor PolicyActor(absl::string_view policy);
// The name of the policy that is an actor of this name; "" for all others.
absl::string_view PolicyOf(absl::string_view actor);

// Whether a person with an administrator's certificate does it.
bool IsAdministrator(const Actor& actor);

// Adds one entry, inside the transaction of the act itself: no act without its entry. `action` is
// a word of docs/store.md, "run.create"; `subject` is what it was done to.
absl::Status Audit(Transaction& txn, absl::Time now, const Actor& actor, absl::string_view action,
                   absl::string_view subject, absl::string_view detail = "");

}  // namespace muster::controller
