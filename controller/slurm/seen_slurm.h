// Keeps a Slurm that has been seen from being taken for none.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "controller/slurm/slurm_control.h"

namespace muster::controller::slurm {

// Slurm for all who ask it whether a node is idle. One that has shown nodes may have jobs on them
// wherever slurmctld is now: NotFound and FailedPrecondition are then Unavailable, with the remedy.
// Thread-safe.
class SeenSlurm final : public SlurmControl {
 public:
  // `is_given_up`: whether the inventory has no place for slurmctld: then there is no Slurm,
  // whatever was seen. `was_seen`: whether an earlier process has seen it. Both are called only
  // where it is missing; they may block, and must be thread-safe. `slurm` must outlive the object.
  SeenSlurm(SlurmControl& slurm, std::function<bool()> is_given_up,
            std::function<absl::StatusOr<bool>()> was_seen);

  absl::StatusOr<std::vector<SlurmNode>> Nodes() override;
  absl::StatusOr<LeftAlone> Drain(const std::vector<NodeChange>& nodes,
                                  const std::string& reason) override;
  absl::StatusOr<LeftAlone> Undrain(const std::vector<NodeChange>& nodes) override;
  absl::StatusOr<SlurmJobsByNode> JobsOn(const std::vector<std::string>& nodes) override;
  absl::StatusOr<LeftAlone> Requeue(const std::vector<JobOnNode>& jobs) override;

 private:
  // The answer, with what an error means to the caller.
  template <typename Answer>
  absl::StatusOr<Answer> Judged(absl::StatusOr<Answer> answer);
  absl::Status Judge(const absl::Status& error);

  SlurmControl& slurm_;
  const std::function<bool()> is_given_up_;
  const std::function<absl::StatusOr<bool>()> was_seen_;
  std::atomic<bool> is_seen_ = false;
};

}  // namespace muster::controller::slurm
