// ValidationEngine: the facts of nodes at the start and at the end of their validation.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/active_validation.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/suite/found_hardware.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

// Nodes that have passed some check and failed none of their own. What checks with others say about
// a node is not known yet.
std::set<std::string> MayPass(const ActiveValidation& validation) {
  std::set<std::string> may, may_not;
  if (validation.state.cancelled()) return may;
  for (const auto& [check_id, verdict] : validation.verdicts) {
    const CheckPart* part = validation.state.Find(check_id);
    if (part == nullptr || part->put_back || part->phase != PartPhase::kEnded) continue;
    const std::string& uuid = validation.NodeOf(*part).uuid;
    if (part->outcome == PartOutcome::kPass) {
      may.insert(uuid);
    } else if (part->outcome != PartOutcome::kSkipped &&
               validation.state.CheckOf(*part).spec->scope == checks::Scope::kNode) {
      may_not.insert(uuid);
    }
  }
  may_not.insert("");  // not enrolled
  for (const std::string& uuid : may_not) may.erase(uuid);
  return may;
}

}  // namespace

void ValidationEngine::AskFacts(ActiveValidation& validation, bool at_end) {
  FactsRound& facts = at_end ? validation.final_facts : validation.start_facts;
  if (!facts.has_begun() || facts.IsOver(with_.clock.Now())) return;
  v1::ControllerMessage message;
  message.mutable_gather_facts()->set_request_id(ToRequestId(
      {at_end ? FactsRequest::Owner::kValidationEnd : FactsRequest::Owner::kValidationStart,
       validation.record.validation_id}));
  for (const std::string& uuid : facts.ToAsk()) {
    if (with_.sessions.Send(uuid, message).ok()) facts.OnAsked(uuid);
  }
}

void ValidationEngine::OnFactsStored(const std::string& uuid, const FactsRequest& request) {
  const auto found = active_.find(request.id);
  if (found == active_.end()) return;
  ActiveValidation& validation = *found->second;
  if (request.owner == FactsRequest::Owner::kValidationEnd) {
    validation.final_facts.OnAnswered(uuid);
    return;
  }
  // A late answer may already be affected by its checks.
  if (validation.start_facts.IsOver(with_.clock.Now())) return;
  if (validation.start_facts.OnAnswered(uuid)) validation.told_at_start.insert(uuid);
}

absl::Status ValidationEngine::StoreStart(ActiveValidation& validation) {
  if (validation.told_at_start.empty()) return absl::OkStatus();
  std::map<std::string, FoundHardware> told;
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    for (const ValidationNode& node : validation.state.nodes()) {
      if (validation.told_at_start.count(node.uuid) == 0 || !txn.nodes().Get(node.uuid).ok()) {
        continue;
      }
      ASSIGN_OR_RETURN(const std::string bytes, txn.nodes().Facts(node.uuid));
      v1::Facts facts;
      facts.ParseFromString(bytes);
      FoundHardware now = FoundOn(facts);
      // The choice of checks stays as it was decided.
      FoundHardware& kept =
          told.emplace(node.name, validation.prepared.found.at(node.name)).first->second;
      kept.gpu_uuids = std::move(now.gpu_uuids);
      kept.driver_version = std::move(now.driver_version);
      kept.kernel = std::move(now.kernel);
      RETURN_IF_ERROR(txn.validations().PutNode(
          {validation.record.validation_id, node.name, node.uuid, 0, "", PackFound(kept)}));
    }
    return absl::OkStatus();
  }));
  validation.told_at_start.clear();
  for (auto& [name, found] : told) validation.prepared.found.at(name) = std::move(found);
  return absl::OkStatus();
}

bool ValidationEngine::HaveFinalFacts(ActiveValidation& validation) {
  const absl::Time now = with_.clock.Now();
  if (!validation.final_facts.has_begun())
    validation.final_facts.Begin(MayPass(validation), now + kFactsWait);
  AskFacts(validation, /*at_end=*/true);
  return validation.final_facts.IsOver(now);
}

}  // namespace muster::controller::validation
