#include "controller/slurm/seen_slurm.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::controller::slurm {

SeenSlurm::SeenSlurm(SlurmControl& slurm, std::function<bool()> is_given_up,
                     std::function<absl::StatusOr<bool>()> was_seen)
    : slurm_(slurm), is_given_up_(std::move(is_given_up)), was_seen_(std::move(was_seen)) {}

absl::StatusOr<std::vector<SlurmNode>> SeenSlurm::Nodes() {
  absl::StatusOr<std::vector<SlurmNode>> nodes = slurm_.Nodes();
  if (nodes.ok() && !nodes->empty()) is_seen_ = true;
  return Judged(std::move(nodes));
}

absl::StatusOr<LeftAlone> SeenSlurm::Drain(const std::vector<NodeChange>& nodes,
                                           const std::string& reason) {
  return Judged(slurm_.Drain(nodes, reason));
}

absl::StatusOr<LeftAlone> SeenSlurm::Undrain(const std::vector<NodeChange>& nodes) {
  return Judged(slurm_.Undrain(nodes));
}

absl::StatusOr<SlurmJobsByNode> SeenSlurm::JobsOn(const std::vector<std::string>& nodes) {
  return Judged(slurm_.JobsOn(nodes));
}

absl::StatusOr<LeftAlone> SeenSlurm::Requeue(const std::vector<JobOnNode>& jobs) {
  return Judged(slurm_.Requeue(jobs));
}

template <typename Answer>
absl::StatusOr<Answer> SeenSlurm::Judged(absl::StatusOr<Answer> answer) {
  if (answer.ok()) return answer;
  return Judge(answer.status());
}

absl::Status SeenSlurm::Judge(const absl::Status& error) {
  const bool is_missing = absl::IsNotFound(error) || absl::IsFailedPrecondition(error);
  if (!is_missing || is_given_up_()) return error;
  if (!is_seen_) {
    const absl::StatusOr<bool> was_seen = was_seen_();
    if (!was_seen.ok()) {
      return absl::UnavailableError(absl::StrCat(
          error.message(),
          "; whether there has been a Slurm is not known: ", was_seen.status().message()));
    }
    if (!*was_seen) return error;
    is_seen_ = true;
  }
  return absl::UnavailableError(absl::StrCat(
      error.message(),
      "; this cluster has had a Slurm, so jobs may run that nobody sees: correct slurm_controller "
      "in "
      "the inventory, or have that node join and Slurm installed there; if there is no Slurm any "
      "more, set slurm_gate: \"off\" in controller.yaml and restart musterd"));
}

}  // namespace muster::controller::slurm
