// Slurm, as far as Muster controls it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/text/slurm_job.h"

namespace muster::controller::slurm {

// A node as slurmctld reports it.
struct SlurmNode {
  std::string name;
  std::string state;        // "IDLE+DRAIN", in Slurm's words
  bool takes_jobs = false;  // neither drained, draining, down nor failing
  bool is_drained = false;  // or draining: somebody drained it
  std::string reason;       // of the drain; without who and when
  std::string reason_user;  // "root"; empty where Slurm does not report it
  bool is_held = false;     // drained, or taken down by a person: its reason says why
  // slurmctld does not reach its slurmd ("IDLE*"), and starts nothing on it until it does.
  bool is_silent = false;
  // Its state is DOWN. Of a node that is not silent: when its slurmd came back from a boot that
  // Slurm did not order, or a person took it down. It stays so until it is resumed, drained or not.
  bool is_down = false;
};

// A node to change, and the reason that its present drain, or its being down, must have; empty:
// there must be none.
struct NodeChange {
  std::string node;
  std::string expected_reason;
};

// A job, and the node from which it is to go.
struct JobOnNode {
  std::string job;  // as SlurmJob::id
  std::string node;
};

// By node: the reason why it was not changed ("drained by root: bad disk"). By job id, where jobs
// were to be changed ("it is not a batch job").
using LeftAlone = std::map<std::string, std::string>;

// Thread-safe. Every call blocks for Slurm. Errors: Unavailable: slurmctld or the path to it does
// not answer; NotFound: Slurm is not installed there; FailedPrecondition: it is not known where
// slurmctld runs.
class SlurmControl {
 public:
  virtual ~SlurmControl() = default;
  // All nodes that slurmctld knows.
  virtual absl::StatusOr<std::vector<SlurmNode>> Nodes() = 0;
  // Lets running jobs end by themselves and starts no new ones. Accepts a node that is already
  // drained like this; one that is down with that reason and answers is up again afterwards.
  virtual absl::StatusOr<LeftAlone> Drain(const std::vector<NodeChange>& nodes,
                                          const std::string& reason) = 0;
  // Removes the drain that has the expected reason, and with it that the node is down although it
  // answers; nothing else.
  virtual absl::StatusOr<LeftAlone> Undrain(const std::vector<NodeChange>& nodes) = 0;
  // The jobs on these nodes.
  virtual absl::StatusOr<SlurmJobsByNode> JobsOn(const std::vector<std::string>& nodes) = 0;
  // Puts the jobs back into the queue, where Slurm and their users allow it; jobs that have ended
  // or that are ending are fine. Ends none for good.
  virtual absl::StatusOr<LeftAlone> Requeue(const std::vector<JobOnNode>& jobs) = 0;
};

// The reason that marks a drain as ours: "muster:v-7k3m9q2x failed this validation".
std::string OwnReason(absl::string_view owner_id, absl::string_view text);
// The owner of a drain: "v-7k3m9q2x"; nullopt: not ours.
std::optional<std::string> OwnerOf(absl::string_view reason);

}  // namespace muster::controller::slurm
