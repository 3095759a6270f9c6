// Slurm, as far as Muster has a say in it: the one folder that spells its words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller::slurm {

// A node as slurmctld has it.
struct SlurmNode {
  std::string name;
  std::string state;        // "IDLE+DRAIN", in Slurm's words
  bool takes_jobs = false;  // neither drained, draining, down nor failing
  bool is_drained = false;  // or draining: somebody said so
  std::string reason;       // of the drain; without who and when
  std::string reason_user;  // "root"; empty where Slurm does not say
};

// Thread-safe. Every call blocks for a program of Slurm's.
class SlurmControl {
 public:
  virtual ~SlurmControl() = default;
  // All that slurmctld knows. Unavailable: slurmctld does not answer. NotFound: Slurm's programs
  // are not on this machine.
  virtual absl::StatusOr<std::vector<SlurmNode>> Nodes() = 0;
  // Running jobs end by themselves; no new ones start.
  virtual absl::Status Drain(const std::string& node, const std::string& reason) = 0;
  // Takes the drain and its reason away, whosever it is: the caller knows whose.
  virtual absl::Status Resume(const std::string& node) = 0;
  // Ids of jobs that have the node: "1234", "1235_7".
  virtual absl::StatusOr<std::vector<std::string>> JobsOn(const std::string& node) = 0;
};

// A drain of ours says so in its reason: "muster:v-7k3m9q2x failed gpu-gemm".
std::string OwnReason(absl::string_view owner_id, absl::string_view text);
// Whose drain it is: "v-7k3m9q2x"; nullopt: not ours.
std::optional<std::string> OwnerOf(absl::string_view reason);

}  // namespace muster::controller::slurm
