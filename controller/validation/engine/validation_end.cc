#include "controller/validation/engine/validation_end.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/gate/job_gate.h"
#include "controller/gate/node_pass.h"
#include "controller/store/store.h"
#include "controller/validation/engine/validation_records.h"

namespace muster::controller::validation {

ValidationEnd::ValidationEnd(ValidationRecord record, EndedValidation ended,
                             std::vector<EndedCheck> checks, Comparisons& comparisons, bool admits)
    : record_(std::move(record)),
      ended_(std::move(ended)),
      verdicts_(JudgeValidation(ended_, std::move(checks), comparisons)),
      admits_(admits) {
  record_.state = ended_.complete ? ValidationRecord::kDone : ValidationRecord::kCancelled;
  record_.blames = verdicts_.blames.SerializeAsString();
}

absl::Status ValidationEnd::Store(controller::Store& store, absl::Time now) {
  record_.finished_at = now;
  return store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Put(record_));
    for (const auto& [part, outcome] : verdicts_.rejudged) {
      RETURN_IF_ERROR(txn.validation_checks().SetOutcome(part->check_id, outcome));
    }
    for (size_t i = 0; i < ended_.nodes.size(); ++i) {
      RETURN_IF_ERROR(PutNode(txn, ended_.nodes[i], verdicts_.nodes[i], now));
    }
    return Audit(
        txn, now, ControllerActor(), "validation.finish", record_.validation_id,
        absl::StrCat(ended_.complete ? "" : record_.message + "; ", verdicts_.passed, " passed, ",
                     verdicts_.failed, " failed, ", verdicts_.unknown, " unknown"));
  });
}

absl::Status ValidationEnd::PutNode(Transaction& txn, const EndedNode& node,
                                    const v1::NodeVerdict& verdict, absl::Time now) const {
  const std::string& id = record_.validation_id;
  RETURN_IF_ERROR(txn.validations().PutNode(
      {id, node.name, node.uuid, verdict.outcome(), verdict.SerializeAsString()}));
  if (node.is_witness || node.uuid.empty()) return absl::OkStatus();
  if (verdict.outcome() == v1::OUTCOME_FAIL) return txn.node_service().RemovePass(node.uuid);
  if (verdict.outcome() != v1::OUTCOME_PASS || !admits_) return absl::OkStatus();
  const absl::Status enrolled = txn.nodes().Get(node.uuid).status();
  if (absl::IsNotFound(enrolled)) return absl::OkStatus();  // it is gone, and its passes are
  RETURN_IF_ERROR(enrolled);
  NodePassRecord pass = {node.uuid, id, record_.suite, record_.suite_digest};
  pass.passed_at = now;
  SetPassKeys(*node.at_end, pass);
  return txn.node_service().PutPass(pass);
}

void ValidationEnd::TellGate(JobGate& gate) const {
  for (size_t i = 0; i < ended_.nodes.size(); ++i) {
    const EndedNode& node = ended_.nodes[i];
    if (node.uuid.empty() || node.is_witness) continue;
    gate.OnJudged(node.uuid, record_.validation_id, verdicts_.nodes[i].outcome());
  }
}

v1::Validation ValidationEnd::ToProto() const {
  v1::Validation validation = validation::ToProto(record_);
  for (const v1::NodeVerdict& node : verdicts_.nodes) *validation.add_nodes() = node;
  return validation;
}

}  // namespace muster::controller::validation
