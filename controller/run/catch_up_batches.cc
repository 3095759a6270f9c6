#include "controller/run/catch_up_batches.h"

#include <algorithm>

namespace muster::controller {

void CatchUpBatches::Add(const std::string& run_id, const std::string& node, absl::Time now,
                         absl::Duration delay) {
  Waiting& waiting = by_run_[run_id];
  waiting.due = std::min(waiting.due, now + delay);
  waiting.nodes.insert(node);
}

std::vector<CatchUpBatch> CatchUpBatches::TakeDue(absl::Time now) {
  std::vector<CatchUpBatch> batches;
  for (auto it = by_run_.begin(); it != by_run_.end();) {
    // A clock that was set back makes nobody wait longer.
    if (now < it->second.due && it->second.due - now <= kCatchUpBusyDelay) {
      ++it;
      continue;
    }
    batches.push_back({it->first, {it->second.nodes.begin(), it->second.nodes.end()}});
    it = by_run_.erase(it);
  }
  return batches;
}

}  // namespace muster::controller
