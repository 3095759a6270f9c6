#include "controller/validation/engine/validation_engine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/claim/node_claims.h"
#include "controller/gate/job_gate.h"
#include "controller/store/stored_facts.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/active_validation.h"
#include "controller/validation/engine/admission.h"
#include "controller/validation/engine/validation_records.h"
#include "controller/validation/engine/validation_salvage.h"
#include "controller/validation/verdict/result_blob.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
ValidationEngine::ValidationEngine(ValidationCollaborators collaborators)
    : with_(std::move(collaborators)) {}
ValidationEngine::~ValidationEngine() = default;

absl::StatusOr<std::map<std::string, EnrolledNode>> ValidationEngine::EnrolledThen(
    const std::string& validation_id) const {
  // The others in the racks count as what they are now.
  ASSIGN_OR_RETURN(auto enrolled, EnrolledNodes(with_.store));
  std::vector<ValidationNodeRecord> rows;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(rows, txn.validations().ListNodes(validation_id));
    return absl::OkStatus();
  }));
  for (const ValidationNodeRecord& row : rows) {
    EnrolledNode& node = enrolled[row.node];
    node.uuid = row.node_uuid;
    node.is_witness = row.is_witness;
    // A validation that was created by an earlier version has nothing stored.
    if (std::optional<FoundHardware> found = UnpackFound(row.found)) {
      node.found = *std::move(found);
    }
  }
  return enrolled;
}

absl::Status ValidationEngine::StoreNew(const ActiveValidation& validation, const Actor& actor,
                                        const RunValidationRecord* asked_by) {
  const ValidationRecord& record = validation.record;
  return with_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Put(record));
    std::vector<std::string> names;
    std::string witness;
    for (const ValidationNode& node : validation.state.nodes()) {
      if (node.is_witness) {
        witness = absl::StrCat(", ", node.name, " as a witness");
      } else {
        names.push_back(node.name);
      }
      RETURN_IF_ERROR(txn.validations().PutNode({record.validation_id, node.name, node.uuid, 0, "",
                                                 PackFound(validation.prepared.found.at(node.name)),
                                                 node.is_witness}));
    }
    std::string detail =
        absl::StrCat("suite ", record.suite, " on ", FoldHostlist(std::move(names)), witness,
                     validation.request.force() ? " (force)" : "");
    if (asked_by != nullptr) {
      RunValidationRecord started = *asked_by;
      started.state = RunValidationRecord::kStarted;
      started.validation_id = record.validation_id;
      started.message.clear();
      RETURN_IF_ERROR(PutWaiting(txn, started));
      absl::StrAppend(&detail, ", after run ", started.run_id);
    }
    return Audit(txn, record.created_at, actor, "validation.create", record.validation_id, detail);
  });
}

absl::StatusOr<v1::Validation> ValidationEngine::Begin(Admission& admission, const Actor& actor,
                                                       const RunValidationRecord* asked_by) {
  RETURN_IF_ERROR(StoreNew(admission.validation(), actor, asked_by));
  std::unique_ptr<ActiveValidation> admitted = admission.Take();
  ActiveValidation& validation = *admitted;
  active_[validation.record.validation_id] = std::move(admitted);
  std::set<std::string> uuids, connected;
  for (const ValidationNode& node : validation.state.nodes()) {
    if (node.uuid.empty()) continue;
    uuids.insert(node.uuid);
    if (with_.sessions.IsConnected(node.uuid)) connected.insert(node.uuid);
  }
  const v1::Validation answer = ToProto(validation);
  validation.start_facts.Begin(uuids, with_.clock.Now() + kFactsWait);
  validation.pending = validation.state.Begin(connected, with_.clock.Now(),
                                              OthersLoad(validation.record.validation_id));
  Flush();
  return answer;
}

absl::Status ValidationEngine::Cancel(const std::string& validation_id, const Actor& actor) {
  const auto found = active_.find(validation_id);
  if (found == active_.end()) {
    RETURN_IF_ERROR(with_.store.View(
        [&](Transaction& txn) { return txn.validations().Get(validation_id).status(); }));
    return absl::FailedPreconditionError(
        absl::StrCat("validation ", validation_id, " has already ended"));
  }
  ActiveValidation& validation = *found->second;
  if (validation.state.cancelled()) return absl::OkStatus();
  if (validation.state.finished()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "all checks of validation ", validation_id,
        " have ended; its nodes are reporting their facts, which takes a minute at most"));
  }
  ValidationRecord record = validation.record;
  record.message = absl::StrCat("stopped by ", actor.name);
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Put(record));
    return Audit(txn, with_.clock.Now(), actor, "validation.cancel", validation_id);
  }));
  validation.record = std::move(record);
  for (ValidationAction& action :
       validation.state.Cancel(validation.record.message, with_.clock.Now())) {
    validation.pending.push_back(std::move(action));
  }
  Flush();
  return absl::OkStatus();
}

absl::Status ValidationEngine::Resume() {
  std::vector<ValidationRecord> records;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(records, txn.validations().ListRunning());
    return absl::OkStatus();
  }));
  for (const ValidationRecord& record : records) {
    const absl::Status status = ResumeOne(record);
    if (status.ok()) continue;
    Remove(record.validation_id);
    // Another process has locked the store for a moment, which is not the validation's fault. The
    // start is tried again.
    if (absl::IsUnavailable(status)) return status;
    // A validation whose suite is lost must not keep the controller from starting.
    ValidationRecord failed = record;
    failed.message =
        absl::StrCat("could not continue after a restart of the controller: ", status.message());
    RETURN_IF_ERROR(FinishStored(with_.store, &with_.gate, std::move(failed), with_.clock.Now()));
  }
  Flush();
  return absl::OkStatus();
}

absl::Status ValidationEngine::ResumeOne(const ValidationRecord& record) {
  std::vector<CheckPart> parts;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto rows, txn.validation_checks().List(record.validation_id));
    for (const ValidationCheckRecord& row : rows) parts.push_back(ToPart(row));
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(std::shared_ptr<const Inventory> inventory,
                   with_.inventory(record.inventory_revision));
  ASSIGN_OR_RETURN(const auto enrolled, EnrolledThen(record.validation_id));
  const std::vector<CheckPart> stored = parts;
  ASSIGN_OR_RETURN(
      std::unique_ptr<ActiveValidation> prepared,
      PrepareValidation(with_, record, std::move(inventory), enrolled, std::move(parts)));
  if (prepared->record.suite_digest != record.suite_digest) {
    return absl::FailedPreconditionError("the suite has changed");
  }
  RETURN_IF_ERROR(ClaimNodes(with_.claims, *prepared));
  ActiveValidation& validation = *prepared;
  active_[record.validation_id] = std::move(prepared);
  // Agents find the controller again one after another.
  validation.pending =
      validation.state.Begin({}, with_.clock.Now(), OthersLoad(record.validation_id));
  RETURN_IF_ERROR(Recollect(validation, stored));
  if (absl::StartsWith(record.message, "stopped by ")) {
    for (ValidationAction& action : validation.state.Cancel(record.message, with_.clock.Now())) {
      validation.pending.push_back(std::move(action));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidationEngine::Recollect(ActiveValidation& validation,
                                         const std::vector<CheckPart>& stored) {
  ResultUnpacker unpacker;
  for (const CheckPart& part : stored) {
    if (part.phase != PartPhase::kEnded || part.put_back) continue;
    const CheckPart* now = validation.state.Find(part.check_id);
    if (now == nullptr) continue;
    v1::CheckVerdict& verdict = validation.verdicts[part.check_id];
    verdict = VerdictWithoutResult(validation.state.CheckOf(*now).spec->name,
                                   ToOutcome(part.outcome), part.reason);
    absl::StatusOr<CheckResultRecord> record;
    RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) {
      record = txn.validation_checks().GetResult(part.check_id);
      return absl::IsNotFound(record.status()) ? absl::OkStatus() : record.status();
    }));
    if (!record.ok()) continue;
    // One at a time: with its curves it may take megabytes, and a validation has thousands.
    v1::CheckResult result;
    // For a damaged one, the outcome is stored separately.
    if (!unpacker.Unpack(record->result, &result).ok()) continue;
    if (record->verdict.empty() || !verdict.ParseFromString(record->verdict)) {
      verdict = validation.Judge(*now, result);
    }
    validation.Compare(*now, result);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Validation> ValidationEngine::Get(const std::string& validation_id) const {
  v1::Validation validation;
  if (const auto found = active_.find(validation_id); found != active_.end()) {
    validation = ToProto(*found->second);
  } else {
    RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const ValidationRecord record, txn.validations().Get(validation_id));
      ASSIGN_OR_RETURN(const auto nodes, txn.validations().ListNodes(validation_id));
      validation = ToProto(record, nodes, /*with_checks=*/true);
      return absl::OkStatus();
    }));
  }
  // Asked before: what is said not to be behind, is not.
  validation.set_service_is_behind(with_.gate.IsBehind(validation_id));
  for (v1::NodeVerdict& node : *validation.mutable_nodes()) {
    node.set_service(with_.gate.ServiceOf(node.node()));
  }
  return validation;
}

absl::StatusOr<std::shared_ptr<ValidationFeed>> ValidationEngine::EventsOf(
    const std::string& validation_id) const {
  const auto found = active_.find(validation_id);
  if (found != active_.end()) return found->second->events;
  v1::ValidationEvent event;
  ASSIGN_OR_RETURN(*event.mutable_finished(), Get(validation_id));
  *event.mutable_time() = event.finished().finished_at();
  auto events = std::make_shared<ValidationFeed>(kValidationRetention);
  events->Append(std::move(event));
  events->End();
  return events;
}

void ValidationEngine::BreakWatches() {
  for (const auto& [id, validation] : active_) validation->events->Break();
}

ActiveValidation* ValidationEngine::FindByCheck(absl::string_view check_id) {
  const auto found = active_.find(check_id.substr(0, check_id.find('/')));
  return found == active_.end() ? nullptr : found->second.get();
}

PowerBudget::OthersLoad ValidationEngine::OthersLoad(const std::string& validation_id) const {
  return [this, validation_id](const std::string& rack, bool with_stopping) {
    return std::any_of(active_.begin(), active_.end(), [&](const auto& active) {
      return active.first != validation_id && active.second->state.HasLoad(rack, with_stopping);
    });
  };
}

void ValidationEngine::Remove(const std::string& validation_id) {
  active_.erase(validation_id);
  with_.claims.Release(validation_id);
}

}  // namespace muster::controller::validation
