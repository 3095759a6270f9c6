// Slurm, as far as Muster has a say in it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/text/slurm_job.h"

namespace muster::controller::slurm {

// A node as slurmctld has it.
struct SlurmNode {
  std::string name;
  std::string state;        // "IDLE+DRAIN", in Slurm's words
  bool takes_jobs = false;  // neither drained, draining, down nor failing
  bool is_drained = false;  // or draining: somebody said so
  std::string reason;       // of the drain; without who and when
  std::string reason_user;  // "root"; empty where Slurm does not say
  bool is_held = false;     // drained, or taken down by a person: its reason says why
};

// A node that is to change, and the reason of the drain that it must have for that; empty: it must
// not be drained.
struct NodeChange {
  std::string node;
  std::string expected_reason;
};

// By node: why it was not changed ("drained by root: bad disk").
using LeftAlone = std::map<std::string, std::string>;

// Thread-safe. Every call blocks for Slurm. Its errors: Unavailable, slurmctld or the way to it
// does not answer; NotFound, Slurm is not installed there; FailedPrecondition, it is not known
// where slurmctld runs.
class SlurmControl {
 public:
  virtual ~SlurmControl() = default;
  // All that slurmctld knows.
  virtual absl::StatusOr<std::vector<SlurmNode>> Nodes() = 0;
  // Running jobs end by themselves; no new ones start. A node that is drained so already is fine.
  virtual absl::StatusOr<LeftAlone> Drain(const std::vector<NodeChange>& nodes,
                                          const std::string& reason) = 0;
  // Takes the drain with the reason expected away, and nothing else.
  virtual absl::StatusOr<LeftAlone> Undrain(const std::vector<NodeChange>& nodes) = 0;
  // The jobs that have these nodes.
  virtual absl::StatusOr<SlurmJobsByNode> JobsOn(const std::vector<std::string>& nodes) = 0;
};

// A drain of ours says so in its reason: "muster:v-7k3m9q2x failed this validation".
std::string OwnReason(absl::string_view owner_id, absl::string_view text);
// Whose drain it is: "v-7k3m9q2x"; nullopt: not ours.
std::optional<std::string> OwnerOf(absl::string_view reason);

}  // namespace muster::controller::slurm
