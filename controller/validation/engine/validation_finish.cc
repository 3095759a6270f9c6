// ValidationEngine: from what is known when all checks have ended to the end of a validation.
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/active_validation.h"
#include "controller/validation/engine/validation_end.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/engine/validation_records.h"
#include "controller/validation/suite/found_hardware.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

std::vector<EndedCheck> EndedChecks(const ActiveValidation& validation) {
  std::vector<EndedCheck> checks;
  for (const auto& [check_id, verdict] : validation.verdicts) {
    const CheckPart* part = validation.state.Find(check_id);
    if (part == nullptr || part->put_back || part->phase != PartPhase::kEnded) continue;
    checks.push_back({part, &validation.state.CheckOf(*part), validation.state.StageOf(*part).name,
                      VerdictOf(validation, *part)});
  }
  return checks;
}

// The nodes with what they were at the start and what they say that they are now.
absl::StatusOr<EndedValidation> Ended(Store& store, const ActiveValidation& validation) {
  EndedValidation ended;
  ended.suite = validation.record.suite;
  ended.complete = !validation.state.cancelled();
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    for (const ValidationNode& node : validation.state.nodes()) {
      EndedNode& each = ended.nodes.emplace_back();
      each.name = node.name;
      each.uuid = node.uuid;
      each.is_witness = node.is_witness;
      each.at_start = validation.prepared.found.at(node.name);
      if (!validation.final_facts.HasAnswered(node.uuid) || !txn.nodes().Get(node.uuid).ok()) {
        continue;
      }
      ASSIGN_OR_RETURN(const std::string bytes, txn.nodes().Facts(node.uuid));
      v1::Facts facts;
      facts.ParseFromString(bytes);
      each.at_end = FoundOn(facts);
    }
    return absl::OkStatus();
  }));
  return ended;
}

}  // namespace

absl::Status ValidationEngine::Finish(ActiveValidation& validation) {
  if (validation.end == nullptr) {
    ASSIGN_OR_RETURN(EndedValidation ended, Ended(with_.store, validation));
    validation.end = std::make_unique<ValidationEnd>(
        validation.record, std::move(ended), EndedChecks(validation), validation.comparisons,
        validation.prepared.suite.admits);
  }
  RETURN_IF_ERROR(validation.end->Store(with_.store, with_.clock.Now()));
  validation.end->TellGate(with_.gate);
  validation.record = validation.end->record();
  v1::ValidationEvent event;
  *event.mutable_time() = ToTimestamp(*validation.record.finished_at);
  *event.mutable_finished() = validation.end->ToProto();
  validation.events->Append(std::move(event));
  validation.events->End();
  return absl::OkStatus();
}

}  // namespace muster::controller::validation
