// What people outside are told: the one way from an event in the cluster to webhooks, e-mail and
// Alertmanager. docs/notifications.md describes it for administrators.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "controller/notify/kinds/kinds.h"

namespace muster::controller::notify {

// One thing that happened in the cluster, or that is no longer so. Texts may come from nodes: the
// channels clean what they send, and cut what is too long.
struct Notification {
  std::string kind;  // a row of kinds/kinds.h: "health.condition", "run.failed"
  Severity severity = Severity::kWarning;
  std::vector<std::string> nodes = {};  // names; shown as a host list
  // Names the one thing that this is about: "r-b7dw6p5v", "gpu.xid". Notifications of equal kind,
  // key and nodes are about the same thing: within an hour the later one is folded into the
  // earlier one, if it says the same. For kinds that last each node counts by itself, and one with
  // `resolved` ends it for its nodes. Never empty.
  std::string key = {};
  // One line: what happened and what follows from it; the nodes are shown before it.
  std::string text = {};
  std::string details = {};              // more lines; may be empty
  bool resolved = false;                 // the thing is well again
  absl::Time at = absl::InfinitePast();  // when it happened; InfinitePast(): now
};

// Thread-safe.
class Notifier {
 public:
  virtual ~Notifier() = default;
  // Never blocks and never fails: a notification that cannot be kept is counted as dropped, which
  // /metrics and `muster notify list` show. May be called under any lock.
  virtual void Post(Notification notification) = 0;
};

}  // namespace muster::controller::notify
