// Between validations and Slurm's jobs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// Which nodes Slurm may use, and whose jobs go first. Thread-safe.
class JobGate {
 public:
  virtual ~JobGate() = default;

  // A validation is about to begin on these nodes: no job may be running on them, and none starts
  // until Release(). FailedPrecondition: there are jobs, which the error names, Slurm does not say,
  // or jobs could still start; not when `force`, nor where there is no Slurm yet. After an error
  // the nodes are not held. Blocks for Slurm.
  virtual absl::Status Hold(const std::string& validation_id, const std::vector<std::string>& nodes,
                            bool force) = 0;
  // The validation is in the store, or will never be.
  virtual void Release(const std::string& validation_id) = 0;
  // Those of `nodes` that can be borrowed without taking anything from anybody, the best first and
  // otherwise in the order given: all where there is no Slurm yet, none where it cannot be asked.
  // Blocks for Slurm.
  virtual std::vector<std::string> WhomToBorrow(const std::vector<std::string>& nodes) = 0;
  // A validation has ended for the node.
  virtual void OnJudged(const std::string& node_uuid, const std::string& validation_id,
                        v1::Outcome outcome) = 0;

  // Something has happened that a look may have to answer. Does not block.
  virtual void Wake() = 0;
  // Looks at Slurm and the store, and has Slurm do what follows from both, in the caller's thread.
  // The error says what Slurm or the store could not do; everything else has been done.
  // FailedPrecondition where the gate is not shut.
  virtual absl::Status Reconcile() = 0;

  // False: Slurm takes nodes as it likes, and the following say nothing.
  virtual bool is_shut() const = 0;
  // "in service", "not validated", "drained by root: bad disk"; empty: not known, or not yet.
  virtual std::string ServiceOf(const std::string& node) const = 0;
  // The validation has ended, and what ServiceOf() says of its nodes is older.
  virtual bool IsBehind(const std::string& validation_id) const = 0;
  // What keeps the gate from its work; OK: nothing.
  virtual absl::Status trouble() const = 0;
};

}  // namespace muster::controller::validation
