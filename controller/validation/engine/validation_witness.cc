// ValidationEngine: a node that is borrowed for the checks between nodes. See witness.h.
#include <set>
#include <utility>

#include "common/base/status.h"
#include "controller/claim/node_claims.h"
#include "controller/validation/engine/active_validation.h"
#include "controller/validation/engine/validation_engine.h"

namespace muster::controller::validation {

std::vector<std::string> ValidationEngine::WitnessesFor(const ActiveValidation& admitted) const {
  std::vector<std::string> connected;
  for (const ValidationNode& node : admitted.prepared.witnesses) {
    if (with_.sessions.IsConnected(node.uuid)) connected.push_back(node.name);
  }
  const std::set<std::string> held = with_.claims.HeldOf(connected);
  std::vector<std::string> free;
  for (std::string& name : connected) {
    if (held.count(name) == 0) free.push_back(std::move(name));
  }
  return free;
}

absl::Status ValidationEngine::ClaimWitness(const ActiveValidation& admitted,
                                            const std::string& node) {
  return Claim(admitted.record, {node});
}

void ValidationEngine::ReleaseWitness(const ActiveValidation& admitted, const std::string& node) {
  with_.claims.ReleaseNode(admitted.record.validation_id, node);
}

absl::Status ValidationEngine::AddWitness(const std::string& node,
                                          std::unique_ptr<ActiveValidation>& admitted) {
  ASSIGN_OR_RETURN(auto enrolled, Enrolled());
  enrolled[node].is_witness = true;
  ASSIGN_OR_RETURN(std::unique_ptr<ActiveValidation> prepared,
                   Prepare(admitted->record, admitted->prepared.inventory, enrolled, {}));
  admitted = std::move(prepared);
  return absl::OkStatus();
}

}  // namespace muster::controller::validation
