// Runs for nodes that missed their last one and have come back, or have come back without what was
// applied to them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/run/catch_up_batches.h"
#include "controller/run/collaborators.h"

namespace muster::v1 {
class CreateRunRequest;
}

namespace muster::controller {

// Not thread-safe.
class CatchUps {
 public:
  // Creates a run, which its creator's mandate still entitles, to catch up with another.
  using Create =
      std::function<absl::Status(const v1::CreateRunRequest& request, const RunMandate& mandate,
                                 const std::string& catches_up_run_id)>;
  // Those of the nodes that other work holds.
  using BusyOf = std::function<std::set<std::string>(const std::vector<std::string>& nodes)>;

  // `with` must outlive the object.
  CatchUps(const RunCollaborators& with, BusyOf busy_of, Create create);

  // The node is connected; it may have missed its last run. One that has lost what was applied to
  // it gets the newest run again that applied its playbook whole.
  void Consider(const std::string& uuid);
  // Creates the runs of the nodes that have waited for others long enough. What the store cannot
  // take now waits again, and so do nodes that other work holds; the others do not wait for them.
  // Nodes that the inventory has dropped are refused, and only they.
  void StartDue();

 private:
  // Records why no catch-up run follows: in the missed run, and once in the audit log.
  void Refuse(const CatchUpBatch& batch, const absl::Status& why);

  const RunCollaborators& with_;
  const BusyOf busy_of_;
  const Create create_;
  CatchUpBatches batches_;
};

}  // namespace muster::controller
