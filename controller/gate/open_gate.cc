#include "controller/gate/open_gate.h"

#include "controller/gate/slurm_jobs.h"

namespace muster::controller::validation {

absl::Status OpenGate::Hold(const std::string&, const std::vector<std::string>& nodes, bool force) {
  if (force || !can_ask_()) return absl::OkStatus();
  return CheckIdle(slurm_, nodes);
}

std::vector<std::string> OpenGate::WhomToBorrow(const std::vector<std::string>& nodes) {
  return NodesWithoutJobs(slurm_, nodes);
}

absl::Status OpenGate::Reconcile() {
  return absl::FailedPreconditionError(
      "the gate to Slurm is off, so Muster neither drains nor resumes nodes: set slurm_gate: "
      "\"on\" "
      "in controller.yaml, or use scontrol");
}

}  // namespace muster::controller::validation
