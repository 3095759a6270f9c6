// Collects nodes that missed their last run and have come back, for one run together.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::controller {

// Nodes that come back within this time share one catch-up run.
inline constexpr absl::Duration kCatchUpDelay = absl::Seconds(5);
// Until a node that other work holds is looked at again: that work may take days.
inline constexpr absl::Duration kCatchUpBusyDelay = absl::Seconds(30);

struct CatchUpBatch {
  std::string run_id;  // the run to catch up with
  std::vector<std::string> nodes;
};

// Pure; not thread-safe.
class CatchUpBatches {
 public:
  // The run's nodes are due together, when the first of them is.
  void Add(const std::string& run_id, const std::string& node, absl::Time now,
           absl::Duration delay = kCatchUpDelay);
  // Takes out the batches that have waited long enough.
  std::vector<CatchUpBatch> TakeDue(absl::Time now);

 private:
  struct Waiting {
    absl::Time due = absl::InfiniteFuture();
    std::set<std::string> nodes;
  };
  std::map<std::string, Waiting> by_run_;
};

}  // namespace muster::controller
