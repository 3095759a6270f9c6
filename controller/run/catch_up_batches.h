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

struct CatchUpBatch {
  std::string run_id;  // the run to catch up with
  std::vector<std::string> nodes;
};

// Pure; not thread-safe.
class CatchUpBatches {
 public:
  void Add(const std::string& run_id, const std::string& node, absl::Time now);
  // Takes out the batches that have waited long enough.
  std::vector<CatchUpBatch> TakeDue(absl::Time now);

 private:
  struct Waiting {
    absl::Time due;
    std::set<std::string> nodes;
  };
  std::map<std::string, Waiting> by_run_;
};

}  // namespace muster::controller
