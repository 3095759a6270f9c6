// The collaborators of rollouts, as small interfaces: a rollout does nothing to a node by itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {
class Clock;
}
namespace muster::v1 {
class CreateRolloutRequest;
class CreateRunRequest;
class CreateValidationRequest;
class PlanFile;
}  // namespace muster::v1
namespace muster::controller {
struct Actor;
class AgentSessions;
class Inventory;
class InventorySource;
class NodeClaims;
struct RunActor;
struct RunMandate;
class Store;
}  // namespace muster::controller
namespace muster::controller::slurm {
class SlurmControl;
}
namespace muster::controller::validation {
class JobGate;
}

namespace muster::controller::rollout {

// All must be thread-safe and outlive the rollouts.
struct RolloutCollaborators {
  Store& store;
  AgentSessions& sessions;
  slurm::SlurmControl& slurm;
  validation::JobGate& gate;
  const NodeClaims& claims;
  InventorySource& inventory;
  Clock& clock;
  // See RunManager::Preview() and Create(); the id of the run.
  std::function<absl::StatusOr<std::vector<std::string>>(const v1::CreateRunRequest&,
                                                         const RunActor&)>
      preview_run;
  std::function<absl::StatusOr<std::string>(const v1::CreateRunRequest&, const RunActor&)>
      start_run;
  // See RunManager::PlanFileOf().
  std::function<absl::StatusOr<v1::PlanFile>(const std::string& sha256)> plan_file;
  // The suite that these nodes have to pass: the one that is asked for, or the one with which the
  // playbook ends for them. "": none. Errors are those of the suite and its files, with their
  // place; PermissionDenied: the actor may not run the suite that is asked for.
  std::function<absl::StatusOr<std::string>(const v1::CreateRolloutRequest&,
                                            const std::vector<std::string>& nodes, const Actor&)>
      suite_for;
  // See ValidationManager::Create(); the id of the validation.
  std::function<absl::StatusOr<std::string>(const v1::CreateValidationRequest&, const Actor&)>
      start_validation;
  // Whether the person who created a rollout may still have it carried out. PermissionDenied with
  // the reason.
  std::function<absl::Status(const RunMandate&)> may_continue;
  // Called with what keeps a rollout from being continued, once for each reason. May be empty.
  std::function<void(absl::string_view)> warn = nullptr;
};

}  // namespace muster::controller::rollout
