// Controls Slurm by its own programs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/slurm.pb.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::agent {

// Calls scontrol and squeue as root of the node on which slurmctld runs, whom Slurm lets drain
// nodes and requeue jobs. A node is changed only if a look right before the change finds it as
// expected: a change that somebody else makes between the two, within some hundredths of a second,
// is lost.
class SlurmCommands {
 public:
  // `processes` must outlive the object.
  explicit SlurmCommands(sys::ProcessRunner& processes) : processes_(processes) {}

  // Carries out the request and answers it in any case; blocks for Slurm's programs, up to half a
  // minute.
  v1::SlurmAnswer Answer(const v1::SlurmRequest& request);

 private:
  using Look = std::function<absl::StatusOr<bool>(const v1::SlurmNode& node,
                                                  absl::string_view expected_reason)>;

  // The nodes to be changed.
  struct Change {
    std::vector<std::string> up;
    std::vector<std::string> down;  // that answer, and whose reason is the expected one
    v1::SlurmChanged changed;       // says which are left alone
  };

  absl::Status Fill(const v1::SlurmRequest& request, v1::SlurmAnswer& answer);
  // The error's code says whether Slurm is installed and answers.
  absl::StatusOr<std::string> Run(std::vector<std::string> argv, size_t max_output);
  absl::StatusOr<std::vector<v1::SlurmNode>> List();
  absl::StatusOr<v1::SlurmChanged> Drain(const v1::DrainSlurmNodes& request);
  absl::StatusOr<v1::SlurmChanged> Undrain(const v1::UndrainSlurmNodes& request);
  // `look` says whether a node is to be changed, or by its error why it is left alone.
  absl::StatusOr<Change> Find(
      const google::protobuf::RepeatedPtrField<v1::SlurmNodeChange>& changes, const Look& look);
  absl::StatusOr<v1::SlurmJobs> ListJobs(const v1::ListSlurmJobs& request);
  absl::StatusOr<v1::SlurmRequeued> Requeue(const v1::RequeueSlurmJobs& request);
  // The jobs that have nodes, in squeue's output; `format` is an option of squeue.
  absl::StatusOr<std::string> Queue(absl::string_view format);
  absl::Status Update(std::vector<std::string> nodes, const std::vector<std::string>& settings);

  sys::ProcessRunner& processes_;
};

}  // namespace muster::agent
